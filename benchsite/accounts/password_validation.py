"""Passwords that somebody who guesses tries first at this site."""

import re
from typing import Final

from django.conf import settings
from django.core.exceptions import ValidationError

from benchsite.accounts.messages import PASSWORD_IS_SITE_WORD
from benchsite.accounts.models import User

FIXED_WORDS: Final = ("benchsite", "benchmark", "ycsb")
SUBSTITUTES: Final = str.maketrans("43015$@!", "aeoissai")  # by which words are disguised


class SiteWordValidator:
    """Refuses names of the product and of the site, also with digits, signs and substituted letters around them."""

    def validate(self, password: str, user: User | None = None) -> None:
        if not any(letter.isalpha() for letter in password):
            raise ValidationError("This password has no letter: choose another.", code="no_letter")
        hosts = ".".join(settings.ALLOWED_HOSTS).split(".")
        words = sorted({_letters(word) for word in (*FIXED_WORDS, *hosts, settings.OIDC_NAME)}, key=len, reverse=True)
        for text in filter(None, (_letters(password), _letters(password.translate(SUBSTITUTES)))):
            for word in words:
                if word:
                    text = text.replace(word, "")
            if not text:
                raise ValidationError("This password is made of names of this site: choose another.", code="site_word")

    def get_help_text(self) -> str:
        return PASSWORD_IS_SITE_WORD


def _letters(text: str) -> str:
    """Its letters alone, in lower case."""
    return re.sub(r"[^a-z]", "", text.lower())
