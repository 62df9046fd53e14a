package org.benchsite.ycsb;

import java.util.Properties;

import site.ycsb.Utils;
import site.ycsb.WorkloadException;
import site.ycsb.generator.NumberGenerator;
import site.ycsb.generator.ScrambledZipfianGenerator;
import site.ycsb.generator.ZipfianGenerator;
import site.ycsb.workloads.CoreWorkload;

/** YCSB's workload with another constant of its zipfian distribution, which YCSB 0.17.0 itself does not let choose. */
public final class ZipfianWorkload extends CoreWorkload {
    public static final String PROPERTY = "zipfianconstant";
    /** Terms of the zeta function that are added one by one; the integral stands for the others. */
    private static final int TERMS = 100_000;

    @Override
    public void init(Properties properties) throws WorkloadException {
        super.init(properties);
        if (!(keychooser instanceof ScrambledZipfianGenerator)) {
            throw new WorkloadException(PROPERTY + " needs requestdistribution=zipfian");
        }
        double constant = Double.parseDouble(properties.getProperty(PROPERTY));
        double inserts = Double.parseDouble(
            properties.getProperty(INSERT_PROPORTION_PROPERTY, INSERT_PROPORTION_PROPERTY_DEFAULT));
        // As CoreWorkload has them: twice the inserts that the count of operations would make.
        long added = (long) (Integer.parseInt(properties.getProperty("operationcount")) * inserts * 2.0);
        keychooser = new Keys(recordcount + added, constant);
    }

    /** Scrambles as YCSB does: popular numbers out of ten thousand million, spread by their hashes. */
    private static final class Keys extends NumberGenerator {
        private final long keys;
        private final ZipfianGenerator numbers;

        Keys(long keys, double constant) {
            this.keys = keys;
            this.numbers = new ZipfianGenerator(0, ScrambledZipfianGenerator.ITEM_COUNT, constant,
                zeta(ScrambledZipfianGenerator.ITEM_COUNT + 1, constant));
        }

        @Override
        public Long nextValue() {
            long key = Utils.fnvhash64(numbers.nextValue()) % keys;
            setLastValue(key);
            return key;
        }

        @Override
        public double mean() {
            return keys / 2.0;
        }
    }

    /** The sum of 1 / i^constant for i from 1 to n, by Euler and Maclaurin; exact to a millionth. */
    static double zeta(long n, double constant) {
        double sum = 0;
        for (int i = 1; i <= TERMS; i++) {
            sum += Math.pow(i, -constant);
        }
        double power = 1 - constant;
        return sum + (Math.pow(n, power) - Math.pow(TERMS, power)) / power
            + (Math.pow(n, -constant) - Math.pow(TERMS, -constant)) / 2;
    }
}
