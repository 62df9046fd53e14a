import java.io.File;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.AbstractHistogram;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;
import org.HdrHistogram.HistogramLogReader;

/**
 * Adds interval histogram logs with HdrHistogram's own classes, for comparison with ours.
 *
 * Each argument is NAME=LOG,LOG,...: all intervals of those logs are added, by tag where the lines have one. For every
 * sum it prints one line "sum NAME TAG COUNT MEAN MIN MAX", the percentiles as "percentile NAME TAG RANK VALUE", and
 * every bucket that counts anything as "value NAME TAG LOWEST COUNT".
 */
public final class Adder {
  private static final double[] PERCENTILES = {0, 1, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100};

  public static void main(String[] args) throws Exception {
    for (String argument : args) {
      String name = argument.substring(0, argument.indexOf('='));
      Map<String, Histogram> sums = new TreeMap<>();
      for (String log : argument.substring(argument.indexOf('=') + 1).split(",")) {
        add(new File(log), sums);
      }
      for (Map.Entry<String, Histogram> sum : sums.entrySet()) {
        print(name + " " + sum.getKey(), sum.getValue());
      }
    }
  }

  private static void add(File log, Map<String, Histogram> sums) throws Exception {
    HistogramLogReader reader = new HistogramLogReader(log);
    for (EncodableHistogram next = reader.nextIntervalHistogram(); next != null; next = reader.nextIntervalHistogram()) {
      String tag = next.getTag() == null ? "-" : next.getTag();
      sums.computeIfAbsent(tag, key -> new Histogram(3)).add((AbstractHistogram) next);
    }
    reader.close();
  }

  private static void print(String name, Histogram sum) {
    System.out.println(
        String.join(" ", "sum", name, "" + sum.getTotalCount(), "" + sum.getMean(), "" + sum.getMinValue(),
            "" + sum.getMaxValue()));
    for (double percentile : PERCENTILES) {
      System.out.printf(Locale.ROOT, "percentile %s %s %d%n", name, percentile, sum.getValueAtPercentile(percentile));
    }
    for (HistogramIterationValue value : sum.recordedValues()) {
      long lowest = sum.lowestEquivalentValue(value.getValueIteratedTo());
      System.out.printf(Locale.ROOT, "value %s %d %d%n", name, lowest, value.getCountAtValueIteratedTo());
    }
  }
}
