"""A wrong catalog file is refused as a whole, with the place and what would be right."""

import pytest

from runs.catalog.loader import SYSTEMS, CatalogError, read_catalog, read_system

REDIS = (SYSTEMS / "redis" / "system.toml").read_text()


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ('slug = "redis"', "slug = ", "redis.toml: Invalid value"),
        ('slug = "redis"', 'slug = "Redis!"', "slug: String should match pattern '^[a-z]"),
        ('slug = "redis"', 'slug = "redis"\nown_cleint = true', "own_cleint: Extra inputs are not permitted"),
        ("own_client = true", 'own_client = "yes"', "own_client: Input should be a valid boolean"),
        (
            'host = "redis.host", port = "redis.port"',
            'nodes = "all", host = "redis.host"',
            "nodes: Input should be 'first', 'hosts' or 'addresses'",
        ),
        ('host = "redis.host"', 'template = "redis://{node}"', "{node} stands for nothing"),
        ("off-wait-1 = ", "off-wait-9 = ", "stock: off-wait-9 is no durability mode"),
        ('name = "Redis"\n', "", "name: Field required"),
        ('host = "redis.host"', 'host = "redis.hots"', "'redis.hots', which is no property"),
        ('[settings.hz]\ntype = "int"', '[settings.hz]\ntype = "integer"', "settings, hz, type: Input should be"),
        (
            'type = "int"\ndefault = "10"\nleast = 1\nmost = 500',
            'type = "int"\ndefault = "0"\nleast = 1',
            "default is wrong",
        ),
        ('default = "64MB"', 'default = "64mb"', "write the default as '64MB'"),
        ("pattern = '[A-Za-z0-9:](", "pattern = '[A-Za-z0-9:]((", "pattern: "),
        (
            'appendonly = "no", save = ""',
            'appendonyl = "no", save = ""',
            "modes, off: server: 'appendonyl' is not known",
        ),
        ('appendonly = "no", save = ""', 'appendonly = "never", save = ""', "write one of yes, no"),
        ('ack = "memory"', 'ack = "brain"', "modes, off, durability, ack: Input should be"),
        ('loss_window_s = "unbounded"', 'loss_window_s = "much"', "loss_window_s: Input should be a valid number"),
        ('loss_window_s = "unbounded"', "loss_window_s = 0.0", "neither the disk nor another copy"),
        ("[modes.off]", "[modes.Off]", "modes, Off: String should match pattern '^[a-z]"),
        ("replicas_needed = 1", "replicas_needed = -1", "replicas_needed: Input should be greater than or equal to 0"),
        ('config_format = "redis"', 'config_format = "ini"', "config_format: Input should be 'redis', "),
        ('"{program}", "{config}"', '"{program}", "{konfig}"', "{konfig} stands for nothing"),
        ('dbfilename = "dump.rdb"', 'save = ""', "save is fixed"),
        ('masterauth = "{password}"', 'masterauth = "{pasword}"', "process, replica: {pasword} stands for nothing"),
        ("[process.replica]", '[process.replica]\nprogram = "x"', "process, replica, program: Extra inputs"),
        ('slug = "redis"', 'slug = "other"', "other stands for what the catalog does not know"),
        ("[modes.off]", "[modes.unknown]", "unknown stands for what the catalog does not know"),
        ('classes = ["redisclient"', 'classes = ["RedisClient"', "classes, 0: String should match pattern '^[^A-Z]*$'"),
        ('dbfilename = "dump.rdb"', 'dbfilename = "a\\nb"', "control characters"),
        ('repository = "redis"', 'repository = "redis:7"', "repository: String should match pattern"),
        ('tag = "7.4-bookworm"', 'tag = "7 4"', "image, tag: String should match pattern"),
        ('["redis-server", "{config}"]', '["{program}", "{config}"]', "{program} stands for nothing"),
        ('["redis-server", "{config}"]', '["redis-server"]\nenvironment = {}', "environment: Extra inputs"),
        ('user = "redis"\n', 'user = "redis"\nfiles = {"redis.conf" = ""}\n', "files: redis.conf is the configuration"),
        ('user = "redis"\n', 'user = "redis"\nfixed = {save = ""}\n', "save is fixed"),
    ],
)
def test_it_says_where_and_what(right, wrong, complaint):
    assert right in REDIS
    with pytest.raises(CatalogError) as refused:
        read_system(REDIS.replace(right, wrong, 1), "redis.toml")
    assert str(refused.value).startswith("redis.toml")
    assert complaint in str(refused.value)


def test_it_refuses_the_same_system_twice():
    with pytest.raises(CatalogError, match="already describes redis"):
        read_catalog({"a.toml": REDIS, "b.toml": REDIS})


def test_it_refuses_an_image_without_the_recipe_of_its_server():
    text = REDIS.replace("[process", "[unused", 1)
    text = text[: text.index("[unused]")] + text[text.index("[image]") :]
    with pytest.raises(CatalogError, match=r"needs a part \[process\] too"):
        read_system(text, "redis.toml")
