"""From a system, a mode and a database's own settings to configuration files, command lines and client properties."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode
from xml.sax.saxutils import escape

from benchsite.core.addresses import join_address
from benchsite.core.formatting import counted
from runs.catalog.messages import (
    CONTROL_CHARACTERS,
    COPIES_ABSENT,
    HADOOP_VARIABLE,
    MODE_NEEDS_REPLICAS,
    MODE_NEEDS_SETTING,
    NO_SETTING_NAME,
    ONE_PORT_FOR_ALL_NODES,
    OPTION_OF_MORE_CHARACTERS,
    SETTING_FIXED,
)
from runs.catalog.records import UNCHECKED, Binding, ConfigFormat, Endpoint, Mode, ProcessRecipe, System
from runs.ycsb.property_schema import PropertyError, check_properties

_SETTING_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,99}")
OPTION_VALUE = re.compile(r"[A-Za-z0-9._-]{1,40}")  # no commas, and nothing that names a file or an address
_TEMPLATE = re.compile(r"\{([a-z_-]+)\}")
# The properties of a URL's options begin so where the option's own name would say too little.
URL_OPTION = "url."


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedServer:
    """Everything one server is started with. {program}, {bin}, {lib} and {password_file} are still open in the argvs.

    `settings` is the whole of the chosen settings (recipe, database, mode; not the fixed ones), for the run's record.
    """

    argv: tuple[str, ...]
    init_argv: tuple[str, ...]
    files: dict[str, str]  # name in the deployment's folder to text
    settings: dict[str, str]
    host: str
    port: int

    def command(self, program: Path, lib: Path | None = None) -> list[str]:
        """The command line that starts the server; `lib`: the folder of its jars, where it has any."""
        values = {"program": str(program), "bin": str(program.parent), "lib": str(lib)}
        return [_fill(text, values) for text in self.argv]

    def init_command(self, program: Path, password_file: Path) -> list[str]:
        """The command line that makes the data folder, or an empty list where nothing is to be made."""
        values = {"program": str(program), "bin": str(program.parent), "password_file": str(password_file)}
        return [_fill(text, values) for text in self.init_argv]


def server_settings(system: System, mode: Mode, settings: Mapping[str, object]) -> dict[str, str]:
    """The settings of recipe, database and mode together, canonical. Raises PropertyError."""
    recipe = system.process.settings if system.process else {}
    return {**recipe, **system.check_settings(settings), **mode.server_settings}


def node_count(system: System, mode: Mode, settings: Mapping[str, object]) -> int:
    """The nodes of a cluster that Benchsite starts. Raises PropertyError."""
    return int(server_settings(system, mode, settings).get("nodes", 1))


def count_servers(system: System | None, provisioner: str, settings: Mapping[str, object], machines: int) -> int:
    """The nodes of a cluster: its machines, unless Benchsite starts several servers on them."""
    if provisioner in ("", "external"):  # Uploads have none.
        return machines
    recipe = system.process.settings if system and system.process else {}
    return max(machines, int(str(settings.get("nodes", recipe.get("nodes", 0)))))


def count_copies(system: System | None, servers: int, stated: int) -> int:
    """Of each record: what no server has does not count, and a system with replicas has a copy on each server."""
    if system and system.process and system.process.replica:
        return max(servers, 1)
    return min(stated, max(servers, 1))


def start_problem(system: System, mode: Mode, nodes: int) -> str:
    """Why servers that Benchsite starts cannot be in the mode; empty where they can. `nodes`: how many of them."""
    facts = system.process.facts if system.process else {}
    for name, value in facts.items():
        if mode.server_settings.get(name, value) != value:
            return MODE_NEEDS_SETTING.format(name=name, needed=mode.server_settings[name], value=value)
    if mode.replicas_needed >= nodes:
        started = "a single node starts" if nodes == 1 else f"{nodes} nodes start"
        return MODE_NEEDS_REPLICAS.format(replicas=counted(mode.replicas_needed, "replica"), started=started)
    return ""


def copies_problem(mode: Mode, copies: int, nodes: int) -> str:
    """Why operations in the mode fail where no node has some of the copies; empty where they do not."""
    acked = mode.durability.replicas_acked
    match acked:
        case "all":
            needed = copies
        case "quorum":
            needed = copies // 2 + 1
        case _:
            needed = 1 + acked
    if needed <= nodes:
        return ""
    return COPIES_ABSENT.format(needed=needed, copies=copies, nodes=counted(nodes, "node"))


def refuse_fixed_settings(recipe: ProcessRecipe | None, settings: Mapping[str, object]) -> dict[str, str]:
    """What is wrong, by name, with unchecked settings of servers that Benchsite starts by this recipe."""
    if recipe is None:
        return {}
    problems = {}
    for name, bare in _list_unchecked(settings):
        if bare in recipe.options and not OPTION_VALUE.fullmatch(str(settings[name])):
            problems[name] = OPTION_OF_MORE_CHARACTERS.format(name=bare)
        elif bare not in recipe.options and (recipe.config_format == "none" or bare in recipe.fixed):
            problems[name] = SETTING_FIXED.format(name=bare)
    return problems


def _list_unchecked(settings: Iterable[str]) -> list[tuple[str, str]]:
    """Each name as it is stated, with the server's own."""
    return [(name, name.removeprefix(UNCHECKED)) for name in settings if name.startswith(UNCHECKED)]


def render_server(
    system: System,
    mode: Mode,
    settings: Mapping[str, object],
    *,
    host: str,
    port: int,
    folder: Path,
    user: str = "",
    password: str = "",
    cluster_port: int = 0,
    seeds: str = "",
    token: int = 0,
    primary: str = "",
    node: int = 1,
    recipe: ProcessRecipe | None = None,
) -> RenderedServer:
    """Configuration files and command lines of one server of `system` in `mode`, its data below `folder`.

    `cluster_port`: where nodes of its cluster talk to each other; `seeds`: the addresses that a new node asks first;
    `token`: its place among the keys; `primary`: the host that a replica copies, on the same port; `node`: its number.
    `recipe`: another than the system's own for plain processes. Raises PropertyError for settings nobody declared and
    for values a configuration file cannot hold.
    """
    recipe = recipe or system.process
    if recipe is None:
        raise ValueError(f"{system.name} cannot be run as a plain process.")
    chosen = server_settings(system, mode, settings)
    values = {
        "host": host,
        "port": str(port),
        "user": user,
        "password": password,
        "folder": str(folder),
        "data": str(folder / "data"),
        "config": str(folder / recipe.config_name),
        "cluster_port": str(cluster_port),
        "seeds": seeds,
        "token": str(token),
        "primary": primary,
        "node": str(node),
        **{name: chosen.get(name, "") for name in recipe.not_in_config},
    }
    options = [(bare, chosen[name]) for name, bare in _list_unchecked(chosen) if bare in recipe.options]
    flags = [name for name in recipe.not_in_config if system.settings[name].type == "bool"]
    arguments = [*recipe.argv, *(recipe.options[bare].replace("{value}", value) for bare, value in options)]
    for name in flags:
        if chosen.get(name) != "true":
            arguments = [text for text in arguments if f"{{{name}}}" not in text]
    fixed = {name: _fill(text, values) for name, text in recipe.fixed.items()}
    in_config = {
        name.removeprefix(UNCHECKED): text for name, text in chosen.items() if name not in recipe.not_in_config
    }
    if problems := refuse_fixed_settings(recipe, chosen):
        raise PropertyError(problems)
    if not password:
        fixed = {name: text for name, text in fixed.items() if recipe.fixed[name] != "{password}"}
    config = {}
    if recipe.config_format != "none":
        body = render_config(recipe.config_format, {**in_config, **fixed})
        config[recipe.config_name] = _fill(recipe.config_head, values) + body
    return RenderedServer(
        argv=tuple(_fill(text, values | dict.fromkeys(flags, "")) for text in arguments),
        init_argv=tuple(_fill(text, values) for text in recipe.init_argv),
        files=config | {name: _fill(text, values) for name, text in recipe.files.items()},
        settings=chosen,
        host=host,
        port=port,
    )


def client_properties(
    system: System,
    mode: Mode,
    binding_properties: Mapping[str, object],
    *,
    host: str,
    port: int,
    password: str = "",
    workload: Mapping[str, str] | None = None,
    nodes: Sequence[tuple[str, int]] = (),
    folder: str = "",
) -> dict[str, str]:
    """The binding's properties for clients of a server at host:port. The mode's come last: nothing overrides them.

    `workload` (YCSB properties) adds what its operations need of the binding. `nodes` are all nodes of the cluster, for
    clients that take several; `folder` is the data folder of a library inside the client. Raises PropertyError.
    """
    binding, endpoint = system.binding, system.binding.endpoint
    properties = system.check_binding_properties(binding_properties)
    hosts = _hosts(endpoint, nodes or [(host, port)])
    address: dict[str, object] = {endpoint.host: hosts, endpoint.port: port}
    if password and endpoint.password:
        address[endpoint.password] = password
    if folder:
        address[endpoint.folder] = folder
    address.pop("", None)  # An embedded system has no address, and a URL none beside it.
    properties.update(check_properties(binding.properties, address))
    if workload is not None and scans(workload):
        properties.update(binding.when_scanning)
    properties.update(binding.fixed)
    properties.update(mode.client_properties)
    if endpoint.url:
        properties[endpoint.url] = _url(binding, hosts, properties)
    return {name: value for name, value in properties.items() if name not in endpoint.parts}


def _hosts(endpoint: Endpoint, nodes: Sequence[tuple[str, int]]) -> str:
    """The nodes as the client takes them. Raises PropertyError."""
    if problem := ports_problem(endpoint, [port for _, port in nodes]):
        raise PropertyError({endpoint.host: problem})
    used = nodes[:1] if endpoint.nodes == "first" else nodes
    if endpoint.nodes == "addresses" or endpoint.url:
        return ",".join(join_address(host, port) for host, port in used)
    return ",".join(host for host, _ in used)


def ports_problem(endpoint: Endpoint, ports: Sequence[int]) -> str:
    """Why the client cannot reach nodes on these ports; empty where it can."""
    if endpoint.nodes != "hosts" or len(set(ports)) < 2:
        return ""
    return ONE_PORT_FOR_ALL_NODES.format(ports=", ".join(map(str, ports)))


def _url(binding: Binding, hosts: str, properties: Mapping[str, str]) -> str:
    """The URL that carries the address: user and password quoted, options as a query."""
    endpoint = binding.endpoint

    def value(name: str) -> str:
        return properties.get(name) or (binding.properties[name].default if name else "") or ""

    user, password = quote(value(endpoint.user), safe=""), quote(value(endpoint.password), safe="")
    options = {name.removeprefix(URL_OPTION): properties[name] for name in endpoint.options if name in properties}
    parts = {
        "nodes": hosts,
        "database": value(endpoint.database),
        "credentials": f"{user}:{password}@" if user else "",
        "options": f"?{urlencode(options, quote_via=quote)}" if options else "",
    }
    return _fill(endpoint.template, parts)


def site_files(system: System, properties: Mapping[str, str]) -> dict[str, str]:
    """Hadoop configuration files that the client finds on its class path: name -> XML of the address properties."""
    endpoint = system.binding.endpoint
    if not endpoint.site_file:
        return {}
    addresses = {name: properties[name] for name in sorted(endpoint.addresses)}
    return {endpoint.site_file: render_config("hadoop", addresses)}


def data_target(system: System, address: str, binding_properties: Mapping[str, object], table: str) -> str:
    """Where on the server at `address` a data set lies, in words: what a message names and an owner confirms."""
    binding = system.binding
    name = binding.endpoint.database
    database = binding_properties.get(name) or (binding.properties[name].default if name else "") or ""
    return f"{address}, {_fill(binding.target, {'database': str(database), 'table': table})}"


def secret_properties(system: System) -> list[str]:
    """Names of the binding's properties that are never shown."""
    return [name for name, declared in system.binding.properties.items() if declared.secret]


def scans(workload: Mapping[str, str]) -> bool:
    """Whether any of the workload's operations are scans; YCSB's default share is 0."""
    return float(workload.get("scanproportion") or 0) > 0


def render_config(form: ConfigFormat, settings: Mapping[str, str]) -> str:
    """A configuration file with one line for each setting, each value quoted as its format wants.

    Raises PropertyError for control characters, which no value of a setting needs.
    """
    note = "Written by Benchsite, which overwrites it whenever it starts the server."
    lines = [f"<!-- {note} -->", "<configuration>"] if form == "hadoop" else [f"# {note}"]
    for name, value in settings.items():
        if not _SETTING_NAME.fullmatch(name):
            raise PropertyError({name: NO_SETTING_NAME.format(name=name[:60])})
        if not value.isprintable():
            raise PropertyError({name: CONTROL_CHARACTERS.format(name=name)})
        match form:
            case "redis":
                lines.append(f"{name} {_redis_value(value)}")
            case "postgresql":
                lines.append(f"{name} = {_postgresql_value(value)}")
            case "yaml":
                lines.append(f"{name}: {_yaml_value(value)}")
            case "mysql":
                lines.append(f"{name} = {_mysql_value(value)}")
            case "hadoop":
                if "${" in value:
                    raise PropertyError({name: HADOOP_VARIABLE.format(name=name)})
                lines.append(f"<property><name>{name}</name><value>{escape(value)}</value></property>")
    if form == "hadoop":
        lines.append("</configuration>")
    return "\n".join(lines) + "\n"


def _redis_value(value: str) -> str:
    """A word as it is; anything else between quotes, with backslash and quote escaped."""
    if re.fullmatch(r"[A-Za-z0-9._:/@%+-]+", value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _postgresql_value(value: str) -> str:
    """Always between apostrophes; inside, an apostrophe is doubled and a backslash escapes, so it is doubled too."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _yaml_value(value: str) -> str:
    """Sizes with the binary units that they are, between quotes, as JSON, which is YAML."""
    size = re.fullmatch(r"(\d+)(k|M|G)B", value)
    return json.dumps(f"{size[1]}{size[2].upper()}iB" if size else value)


def _mysql_value(value: str) -> str:
    """Between quotes, where a backslash escapes; units are single letters."""
    size = re.fullmatch(r"(\d+[kMG])B", value)
    return '"' + (size[1] if size else value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _fill(text: str, values: Mapping[str, str]) -> str:
    """The template with the known words filled in, in one pass, so that a value with braces stays what it is."""
    return _TEMPLATE.sub(lambda match: values.get(match[1], match[0]), text)
