package org.benchsite.ycsb;

/** An attempt that failed although the driver raised nothing: too few replicas answered, for instance. */
public final class OperationFailed extends Exception {
    private static final long serialVersionUID = 1L;

    final transient Failure failure;

    public OperationFailed(Failure failure) {
        super(failure.message);
        this.failure = failure;
    }
}
