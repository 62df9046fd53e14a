"""Direct labels: beside their points, on nothing else, and inside."""

import pytest

from reports.compare.figures.labels import Box, Label, place_labels
from reports.compare.figures.layout import cut, escaped


def test_a_label_stands_right_of_its_point_where_nothing_is():
    (spot,) = place_labels([Label("Redis", ((50.0, 50.0),))], [], (300, 100))
    assert (spot.anchor, spot.side["xanchor"], spot.side["yanchor"]) == (0, "left", "middle")


def test_it_gives_way_to_what_is_there():
    (spot,) = place_labels([Label("Redis", ((50.0, 50.0),))], [Box(55, 40, 120, 60)], (300, 100))
    assert (spot.side["xanchor"], spot.side["yanchor"]) != ("left", "middle")


def test_it_stays_inside():
    (spot,) = place_labels([Label("Redis", ((290.0, 50.0),))], [], (300, 100))
    assert spot.side["xanchor"] == "right"


def test_labels_of_one_point_do_not_cover_each_other():
    spots = place_labels([Label("one", ((50.0, 50.0),)), Label("two", ((50.0, 50.0),))], [], (300, 100))
    assert spots[0] != spots[1]


def test_it_moves_along_its_curve_when_the_end_is_crowded():
    (spot,) = place_labels([Label("Redis", ((250.0, 50.0), (80.0, 60.0)))], [Box(150, 0, 300, 100)], (300, 100))
    assert spot.anchor == 1


def test_escape_removes_bidirectional_controls_from_a_name():
    assert escaped("daolkroW \u202e<A>\u2069") == "daolkroW &lt;A&gt;"


@pytest.mark.parametrize("most", [16, 18, 28, 34])
def test_labels_are_never_cut_to_the_same_text(most):
    names = [
        f"Redis Cluster of {nodes} masters · {mode}"
        for nodes in ("three", "six", "sixteen")
        for mode in ("off", "always")
    ]
    short = [cut(name, most, names) for name in names]
    assert len(set(short)) == len(names) and max(map(len, short)) <= most
    assert cut(names[0], most) == cut(names[4].replace("sixteen", "three"), most)  # alone it is cut in the middle
