"""Where artifacts lie, by the environment: a folder, or a bucket of an S3-compatible service."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from benchsite.core.env import env_path, env_str

# What is read at a time stays in memory up to this size; more goes to a temporary file.
IN_MEMORY = 8 * 1024**2
S3_VARIABLES = ("ENDPOINT", "REGION", "PREFIX", "ACCESS_KEY", "SECRET_KEY")


def artifact_storage(folder: Path) -> dict[str, Any]:
    """The entry of STORAGES: the bucket BENCHSITE_S3_BUCKET where one is named, else BENCHSITE_ARTIFACTS or `folder`.

    Without keys the usual places are asked: AWS_ACCESS_KEY_ID, a profile, or the role of the machine.
    """
    bucket = env_str("BENCHSITE_S3_BUCKET", "")
    if not bucket:
        for name in S3_VARIABLES:
            if env_str(f"BENCHSITE_S3_{name}", ""):
                raise ImproperlyConfigured(
                    f"BENCHSITE_S3_{name} is set, but no BENCHSITE_S3_BUCKET: artifacts would go to a folder."
                )
        return {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            # Outputs name hosts, users and settings: no other account of this host reads them.
            "OPTIONS": {
                "location": env_path("BENCHSITE_ARTIFACTS", folder),
                "file_permissions_mode": 0o600,
                "directory_permissions_mode": 0o700,
            },
        }

    access, secret = env_str("BENCHSITE_S3_ACCESS_KEY", ""), env_str("BENCHSITE_S3_SECRET_KEY", "")
    if bool(access) != bool(secret):
        raise ImproperlyConfigured("BENCHSITE_S3_ACCESS_KEY and BENCHSITE_S3_SECRET_KEY belong together: set both.")

    endpoint = env_str("BENCHSITE_S3_ENDPOINT", "")
    addressing_style = "auto"
    if endpoint:
        # A service of one's own seldom has a host name for each bucket.
        addressing_style = "path"
    return {
        "BACKEND": "benchsite.core.s3.ArtifactsInS3",
        "OPTIONS": {
            "bucket_name": bucket,
            "endpoint_url": endpoint or None,
            "region_name": env_str("BENCHSITE_S3_REGION", "us-east-1"),
            "location": env_str("BENCHSITE_S3_PREFIX", ""),
            "access_key": access or None,
            "secret_key": secret or None,
            "addressing_style": addressing_style,
            "signature_version": "s3v4",
            # Content lies under its own hash: writing it twice writes the same.
            "file_overwrite": True,
            "default_acl": None,
            "max_memory_size": IN_MEMORY,
        },
    }
