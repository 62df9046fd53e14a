"""Which load generators a matrix uses: ticked where they are few, named where nobody would tick them one by one."""

from fnmatch import fnmatchcase
from typing import Final

from django import forms
from django.core.exceptions import ValidationError

from runs.catalog.forms.fields import DescribedForm
from runs.catalog.messages import NO_GENERATOR_CALLED
from runs.models import LoadGenerator

MAX_TOGGLES: Final = 60


class GeneratorsForm(DescribedForm):
    """Whoever derives from it sets `generators` before the form is built."""

    generators: list[LoadGenerator]
    named: frozenset[LoadGenerator] = frozenset()

    load_generators = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, label="Load generators"
    )
    generator_names = forms.CharField(
        required=False,
        max_length=5_000,
        label="Load generators by name",
        help_text="Names, or patterns such as lab-*, comma-separated.",
    )

    @property
    def has_many_generators(self) -> bool:
        """Then none is chosen that was not, and only the chosen ones can be deselected."""
        return len(self.generators) > MAX_TOGGLES

    def generator_toggles(self) -> list[tuple[LoadGenerator, bool]]:
        """Those that are offered to be ticked, and whether they are."""
        ticked = {str(value) for value in self["load_generators"].value() or ()}
        every = [(generator, str(generator.pk) in ticked) for generator in self.generators]
        if self.has_many_generators:
            return [toggle for toggle in every if toggle[1]]
        return every

    def clean_generator_names(self) -> str:
        text: str = self.cleaned_data["generator_names"]
        named: set[LoadGenerator] = set()
        for pattern in text.replace(",", " ").split():
            meant = [generator for generator in self.generators if fnmatchcase(generator.name, pattern)]
            if not meant:
                raise ValidationError(NO_GENERATOR_CALLED.format(pattern=pattern[:60]))
            named.update(meant)
        self.named = frozenset(named)
        return text

    def chosen_generators(self) -> list[LoadGenerator]:
        """Ticked or named, by name."""
        ticked = set(self.cleaned_data["load_generators"])
        return [generator for generator in self.generators if str(generator.pk) in ticked or generator in self.named]
