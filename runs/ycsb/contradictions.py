"""What one operation's printed numbers say against each other."""

from runs.ycsb.operation import ReadOperation


def bucket_contradiction(operation: ReadOperation) -> str:
    """What the buckets say against the count and the maximum, in words, or nothing."""
    if not operation.buckets:
        return ""
    counted = sum(bucket.count for bucket in operation.buckets)
    if operation.count is not None and counted != operation.count:
        return f"its buckets hold {counted:,} values of {operation.count:,}"
    last = max((bucket.from_us for bucket in operation.buckets if bucket.count), default=0.0)
    if operation.max_us is not None and last > operation.max_us:
        return "a bucket above its maximum is not empty"
    return ""
