"""The fields of how clients sign in to servers of others: those that the catalog names for the chosen system."""

from collections.abc import Mapping

from django import forms
from django.forms import BoundField

from runs.catalog import Property, PropertyError, System, load_catalog
from runs.catalog.forms.fields import DescribedForm
from runs.catalog.messages import NO_SECRET_STORED
from runs.ycsb.property_schema import MAX_PEM_LENGTH, MAX_TEXT_LENGTH

KEPT = "(kept)"  # stands for a stored secret
LABELS = {
    "ssl": "TLS",
    "ca": "Certificates of the CA",
    "certificate": "Certificate of the client",
    "key": "Key of that certificate",
}
# The hidden field that names the system for which the page was made.
EARLIER_SYSTEM = "earlier_system"


def drop_defaults_of_another(typed: Mapping[str, str], system: System | None) -> dict[str, str]:
    """The typed values, without the defaults that the page showed for the system that was chosen before."""
    earlier = load_catalog().systems.get(typed.get(EARLIER_SYSTEM, ""))
    if earlier is None or system is None or earlier.slug == system.slug:
        return {**typed}
    binding = earlier.binding
    defaults = {(field, binding.properties[name].default) for field, name in binding.form_fields.items()}
    return {field: text for field, text in typed.items() if (field, text) not in defaults}


class SignInForm(DescribedForm):
    """A form with these fields beside one of further client properties, `lines`."""

    lines: str
    client_system: System | None = None

    def add_sign_in(self, system: System, initial: Mapping[str, str]) -> None:
        """`initial` are client properties by their names."""
        self.client_system = system
        for field, name in system.binding.form_fields.items():
            declared = system.binding.properties[name]
            self.fields[field] = _build_field(field, declared)
            self.initial[field] = initial.get(name, declared.default or "")

    def read_properties(self, lines: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
        """The properties of these lines and fields in canonical form; a field's default is left out, and `secrets` are
        in the place of KEPT. What is wrong is added to the form, and the answer then empty.
        """
        assert self.client_system is not None
        binding = self.client_system.binding
        fields = {name: field for field, name in binding.form_fields.items()}
        stated = {name: self.cleaned_data.get(field, "") for name, field in fields.items()}
        defaults = {name: binding.properties[name].default for name in fields}
        properties = {**lines, **{name: text for name, text in stated.items() if text and text != defaults[name]}}
        unchanged = [name for name, text in properties.items() if text == KEPT]
        properties |= {name: secrets[name] for name in unchanged if name in secrets}
        for name in unchanged:
            if name not in secrets:
                self.add_error(fields.get(name, self.lines), NO_SECRET_STORED.format(name=name))

        try:
            return self.client_system.check_binding_properties(properties)
        except PropertyError as error:
            for name, message in error.problems.items():
                self.add_error(fields.get(name, self.lines), message)

        return {}

    def sign_in(self) -> list[BoundField]:
        return self._sign_in_fields(is_pem=False)

    def certificates(self) -> list[BoundField]:
        return self._sign_in_fields(is_pem=True)

    def _sign_in_fields(self, *, is_pem: bool) -> list[BoundField]:
        fields = self.client_system.binding.form_fields if self.client_system else ()
        return [self[field] for field in fields if isinstance(self.fields[field].widget, forms.Textarea) is is_pem]

    @property
    def has_certificates(self) -> bool:
        return any(field.value() or field.errors for field in self.certificates())


def _build_field(name: str, declared: Property) -> forms.Field:
    label = LABELS.get(name) or declared.name.rpartition(".")[2].replace("_", " ").capitalize()
    if declared.choices and declared.type == "choice":
        choices = [(choice, choice) for choice in declared.choices]
        return forms.ChoiceField(choices=choices, required=False, label=label, help_text=declared.help)

    # The page shows what was typed again, whatever else was wrong; stored secrets are never sent to it.
    widget: forms.Widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    longest = MAX_TEXT_LENGTH
    if declared.type == "pem":
        widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "mono"})
        longest = MAX_PEM_LENGTH
    elif declared.secret:
        widget = forms.PasswordInput(attrs={"autocomplete": "new-password"}, render_value=True)

    return forms.CharField(
        required=False, strip=False, max_length=longest, label=label, help_text=declared.help, widget=widget
    )
