package org.benchsite.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import site.ycsb.generator.ScrambledZipfianGenerator;

class ScrambledRanksTest {
    @Test
    void zetaIsThatOfYcsbForItsOwnConstant() {
        assertEquals(ScrambledZipfianGenerator.ZETAN,
            ScrambledRanks.zeta(ScrambledZipfianGenerator.ITEM_COUNT, ScrambledZipfianGenerator.USED_ZIPFIAN_CONSTANT),
            1e-6);
    }
}
