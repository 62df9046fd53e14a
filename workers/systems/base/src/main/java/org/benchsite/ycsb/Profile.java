package org.benchsite.ycsb;

/** A rate over time, as a share of 1: piecewise linear between points, and as the nearest point beyond them. */
final class Profile {
    private final double[] seconds;
    private final double[] shares;
    /** The integral of the share up to each point. */
    private final double[] integrals;
    private int segment;

    private Profile(double[] seconds, double[] shares) {
        this.seconds = seconds;
        this.shares = shares;
        integrals = new double[seconds.length];
        for (int i = 1; i < seconds.length; i++) {
            integrals[i] = integrals[i - 1] + (seconds[i] - seconds[i - 1]) * (shares[i] + shares[i - 1]) / 2;
        }
    }

    /**
     * Reads {@code second:percent,...}, whose second 0 is `laterS` seconds after the begin; empty: always 1.
     *
     * <p>Before that second its share is offered, and all of the rate where it is 0: a warm-up needs operations.
     */
    static Profile parse(String text, double laterS) {
        if (text.isEmpty()) {
            return new Profile(new double[] {0}, new double[] {1});
        }
        String[] points = text.split(",");
        double[] seconds = new double[points.length + 2];
        double[] shares = new double[points.length + 2];
        for (int i = 0; i < points.length; i++) {
            String[] point = points[i].split(":");
            seconds[i + 2] = laterS + Double.parseDouble(point[0]);
            shares[i + 2] = Double.parseDouble(point[1]) / 100;
        }
        seconds[1] = laterS;
        shares[1] = laterS > 0 && shares[2] == 0 ? 1 : shares[2];
        shares[0] = shares[1];
        return new Profile(seconds, shares);
    }

    /** The second at which the integral reaches a value; the values that are asked for ascend. Infinite: never. */
    double secondOf(double integral) {
        while (segment + 1 < integrals.length && (integrals[segment + 1] < integral || isEmpty(segment))) {
            segment++;
        }
        double rest = integral - integrals[segment];
        double share = shares[segment];
        if (segment + 1 == integrals.length) {
            return share > 0 ? seconds[segment] + rest / share : Double.POSITIVE_INFINITY;
        }
        double slope = (shares[segment + 1] - share) / (seconds[segment + 1] - seconds[segment]);
        if (slope == 0) {
            return seconds[segment] + (rest == 0 ? 0 : rest / share);
        }
        // The root of slope / 2 x^2 + share x = rest, in the form that does not cancel.
        return seconds[segment] + 2 * rest / (share + Math.sqrt(Math.max(share * share + 2 * slope * rest, 0)));
    }

    private boolean isEmpty(int index) {
        return seconds[index + 1] == seconds[index];
    }
}
