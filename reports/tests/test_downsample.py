import numpy as np

from reports.compare.analysis.downsample import lttb, m4, thinned

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


def test_largest_triangles_keep_course_and_may_drop_a_dip():
    # Worked in the analysis design.
    assert [(int(at), Y[at]) for at in lttb(Y, 5)] == [(0, 10), (3, 50), (4, 11), (10, 2), (11, 10)]
    assert lttb(Y, 12).tolist() == list(range(12)) and lttb(Y, 99).tolist() == list(range(12))
    assert lttb(Y, 2).tolist() == [0, 11] and lttb([], 5).tolist() == []


def test_the_largest_triangles_pass_over_what_is_not_a_number():
    y = np.sin(np.arange(5_000) / 100)
    y[100:300] = np.nan
    kept = lttb(y, 400)
    assert 300 < kept.size <= 400 and np.isfinite(y[kept[1:-1]]).all()
    assert (np.diff(kept) > 0).all()


def test_columns_of_the_worked_example_say_which_point_is_which():
    columns = np.array_split(np.arange(12), 3)
    found = [
        sorted({int(c[0]), int(c[np.argmin(np.array(Y)[c])]), int(c[np.argmax(np.array(Y)[c])]), int(c[-1])})
        for c in columns
    ]
    assert found == [[0, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert m4(Y, 3).tolist() == [at for column in found for at in column]
