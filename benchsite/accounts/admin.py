"""The operator's view of people and teams."""

from typing import TYPE_CHECKING, Any

from allauth.account.decorators import secure_admin_login
from allauth.mfa.base.internal.flows import delete_and_cleanup
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest

from benchsite.accounts.models import AuditEntry, Membership, SignInLink, Team, User

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
    BaseUserAdmin = UserAdmin[User]
else:
    ModelAdmin = admin.ModelAdmin
    TabularInline = admin.TabularInline
    BaseUserAdmin = UserAdmin

admin.site.site_header = "Benchsite, operators"
admin.site.site_title = "Benchsite"
admin.site.index_title = "What this site holds"


# Operators sign in as everybody does: with the limits and the second factor of the site's page.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
# allauth's own page shows secrets.
admin.site.unregister(Authenticator)


class MembershipInline(TabularInline):
    model = Membership
    extra = 0
    autocomplete_fields = ["user", "team"]


@admin.register(User)
class PersonAdmin(BaseUserAdmin):
    list_display = ["username", "email", "is_staff", "is_active", "last_login"]
    list_filter = ["is_staff", "is_active", "teams"]
    inlines = [MembershipInline]


@admin.register(Team)
class TeamAdmin(ModelAdmin):
    list_display = ["name", "slug", "people", "created_at"]
    search_fields = ["name", "slug"]
    prepopulated_fields = {"slug": ["name"]}
    inlines = [MembershipInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        counted: QuerySet[Any] = super().get_queryset(request).annotate(people_count=Count("memberships"))
        return counted

    @admin.display(description="people", ordering="people_count")
    def people(self, obj: Any) -> int:
        return int(obj.people_count)


class UnchangedAdmin(ModelAdmin):
    """Rows that only Benchsite writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(SignInLink)
class SignInLinkAdmin(UnchangedAdmin):
    """Who was let in by a link, and when. The token's digest stays out of sight; taking a link away is deleting it."""

    list_display = ["user", "created_at", "expires_at", "used_at"]
    list_select_related = ["user"]
    fields = ["user", "created_at", "expires_at", "used_at"]
    readonly_fields = ["user", "created_at", "expires_at", "used_at"]


@admin.register(Authenticator)
class SecondFactorAdmin(UnchangedAdmin):
    """Who has one. Deleting it lets somebody in again who has lost theirs; its recovery codes go with it."""

    list_display = ["user", "created_at", "last_used_at"]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    fields = ["user", "created_at", "last_used_at"]
    readonly_fields = ["user", "created_at", "last_used_at"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(type=Authenticator.Type.TOTP)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        delete_and_cleanup(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for authenticator in queryset:
            delete_and_cleanup(request, authenticator)


@admin.register(AuditEntry)
class AuditEntryAdmin(UnchangedAdmin):
    """What happened in all teams and on the site itself, such as who signed in and who was refused."""

    list_display = ["at", "actor_name", "kind", "subject", "times", "team", "text"]
    list_filter = ["kind"]
    list_select_related = ["team"]
    search_fields = ["subject", "actor_name"]
    show_full_result_count = False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
