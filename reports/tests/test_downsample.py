import numpy as np

from reports.compare.analysis.downsample import m4, thinned

Y = [10, 11, 10, 50, 11, 10, 12, 10, 9, 10, 2, 10]


def test_it_keeps_first_least_greatest_and_last_of_each_column():
    # Worked in the analysis design: first/least, greatest/last; then four different ones; greatest before last.
    assert m4(Y, 3).tolist() == [0, 3, 4, 5, 6, 7, 8, 9, 10, 11]


def test_it_keeps_every_dip_of_a_long_series():
    y = np.full(43_200, 100.0)
    y[[7, 20_000, 43_000]] = 0.0
    kept = thinned(y)
    assert kept.size <= 2_000
    assert {7, 20_000, 43_000} <= set(kept.tolist())
    assert kept[0] == 0 and kept[-1] == y.size - 1


def test_it_leaves_a_short_series_alone_and_ignores_nan():
    assert m4([1.0, 2.0], 5).tolist() == [0, 1]
    assert m4([np.nan] * 100, 2).tolist() == [0, 49, 50, 99]
    assert m4([], 3).tolist() == []


def test_columns_of_the_worked_example_say_which_point_is_which():
    columns = np.array_split(np.arange(12), 3)
    found = [
        sorted({int(c[0]), int(c[np.argmin(np.array(Y)[c])]), int(c[np.argmax(np.array(Y)[c])]), int(c[-1])})
        for c in columns
    ]
    assert found == [[0, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert m4(Y, 3).tolist() == [at for column in found for at in column]
