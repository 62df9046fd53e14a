package org.benchsite.ycsb;

/** What all threads of a process use together, such as a driver's session: opened for the first, closed behind the last. */
public final class Shared<T> {
    private T current;
    private int users;

    /** How it is opened. */
    public interface Opening<T, E extends Exception> {
        T open() throws E;
    }

    public synchronized <E extends Exception> T acquire(Opening<T, E> opening) throws E {
        if (users == 0) {
            current = opening.open();
        }
        users++;
        return current;
    }

    /** Once for each `acquire`. */
    public synchronized void release(Runnable close) {
        users--;
        if (users == 0) {
            current = null;
            close.run();
        }
    }
}
