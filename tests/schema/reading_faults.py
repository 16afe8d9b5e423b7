"""Wrong programs, each a fault that somebody could well make, and the law that must catch it."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import reading_laws as laws

from bayesgen.persist import Registry
from bayesgen.schema import NumberForm
from bayesgen.schema.readings import (
    Binary,
    Bins,
    Counts,
    Decorated,
    Indicator,
    Levels,
    Numbers,
    Pattern,
    PowerTransformed,
)

FAULTS = []


def planted(law: Callable, name: str, owner: type, attribute: str) -> Callable:
    """Register a fault: a function of the right method that returns a wrong one."""

    def register(wrong: Callable) -> Callable:
        FAULTS.append(pytest.param(law, name, owner, attribute, wrong, id=wrong.__name__))
        return wrong

    return register


def of_class(wrong: Callable) -> Callable:
    """Return a fault of a class method, from a function of its right result and its arguments."""

    def register(right: classmethod) -> classmethod:
        def method(cls, *args):
            return wrong(right.__func__(cls, *args), *args)

        return classmethod(method)

    register.__name__ = wrong.__name__
    return register


@planted(laws.law_round_trip, "centred", Numbers, "in_units")
def forgets_the_origin(right):
    return lambda self, cells: cells


@planted(laws.law_round_trip, "power", PowerTransformed, "decode")
def forgets_the_power(right):
    return lambda self, cells: self.of.decode(cells)


@planted(laws.law_round_trip, "booleans", Binary, "decode")
def takes_one_for_the_first_level(right):
    return lambda self, cells: right(self, 1 - cells)


@planted(laws.law_round_trip, "text", Levels, "decode")
def counts_levels_from_one(right):
    return lambda self, cells: right(self, np.where(cells < 0, cells, (cells + 1) % 2))


@planted(laws.law_round_trip, "bins", Bins, "encode")
def puts_a_number_into_the_next_bin(right):
    return lambda self, found, unseen="missing": np.where(
        (codes := right(self, found, unseen)) < 0, codes, np.minimum(codes + 1, 3)
    )


@planted(laws.law_round_trip, "indicators", Indicator, "encode_columns")
@of_class
def indicates_the_other_levels(cells, *_):
    return 1 - cells


@planted(laws.law_round_trip, "pattern", Pattern, "decode")
def marks_observed_cells(right):
    return lambda self, cells: cells == 0


@planted(laws.law_round_trip, "percent", Decorated, "decode")
def writes_a_share(right):
    return lambda self, cells: right(dataclasses.replace(self, origin=0.0), cells / 100)


@planted(laws.law_union, "text", Levels, "united")
def keeps_its_own_levels(right):
    return lambda self, other: (self,)


@planted(laws.law_union, "indicators", Indicator, "united")
def keeps_its_own_indicators(right):
    return lambda self, other: right(self, self)


@planted(laws.law_round_trip, "categories", Levels, "learn")
@of_class
def forgets_that_levels_were_declared(columns, *_):
    return tuple(dataclasses.replace(column, declared=False) for column in columns)


@planted(laws.law_union, "centred", Numbers, "united")
def forgets_both_origins(right):
    return lambda self, other: (dataclasses.replace(self, origin=None),)


@planted(laws.law_union, "power", PowerTransformed, "union")
def takes_the_first_power(right):
    return lambda self, other: (self,)


@planted(laws.law_round_trip, "money", Decorated, "numbers")
def reads_thousands_as_decimals(right):
    return lambda self, found: right(self, found) / (1 if found.kind == "number" else 1000)


@planted(laws.law_union, "comma", Decorated, "in_one_form")
def forgets_the_marks_of_both(right):
    return lambda self, other: dataclasses.replace(self, written=NumberForm(after=" kg"))


@planted(laws.law_batches, "blanks", Decorated, "merge")
def takes_the_form_of_no_batch(right):
    return lambda self, found: (dataclasses.replace(self, written=NumberForm()),)


@planted(laws.law_numbers_too, "percent", Numbers, "in_one_form")
def forgets_the_form_of_the_other(right):
    return lambda self, other: self


@planted(laws.law_numbers_too, "comma, bins", Bins, "merge")
@planted(laws.law_numbers_too, "percent", Numbers, "merge")
@planted(laws.law_batches, "years, counts", Counts, "merge")
def takes_text_for_numbers_as_before(right):
    return lambda self, found: (self,)


@planted(laws.law_batches, "text", Levels, "merge")
def learns_no_level_later(right):
    return lambda self, found: (self,)


@planted(laws.law_batches, "whole numbers", Levels, "merge")
def learns_the_last_batch_alone(right):
    return lambda self, found: self.learn(found)


@planted(laws.law_batches, "indicators", Indicator, "merge")
def learns_no_indicator_later(right):
    return lambda self, found: (self,)


@planted(laws.law_saved, "money", Registry, "apart")
@planted(laws.law_saved, "indicators", Registry, "apart")
@planted(laws.law_saved, "power", Registry, "apart")
@planted(laws.law_saved, "comma, bins", Registry, "apart")
def saves_all_fields_but_the_last(right):
    def wrong(self, value):
        found = right(self, value)
        if found is None or "." not in found[0] or "Schema" in found[0]:
            return found
        name, parts = found
        return name, dict(list(parts.items())[:-1]) if len(parts) > 1 else parts

    return wrong


@planted(laws.law_parts, "text", Levels, "encode_columns")
@of_class
def takes_the_codes_of_the_part(codes, columns, rows, unseen):
    return np.array([rows.column(c.name).values for c in columns]).T


@planted(laws.law_parts, "percent", Decorated, "in_files")
def reads_texts_of_files_as_numbers(right):
    return property(lambda self: "number")


@planted(laws.law_parts, "bins", Bins, "in_files")
def reads_bins_of_files_as_text(right):
    return property(lambda self: "text")


@planted(laws.law_parts, "centred", Numbers, "encode_columns")
@of_class
def takes_the_first_row_of_a_part_off(cells, *_):
    return cells - cells[:1]


@planted(laws.law_together, "centred", Numbers, "encode_columns")
@of_class
def takes_the_first_origin_off_all(cells, columns, rows, unseen):
    origin = np.array([column.origin for column in columns])
    return cells + origin - origin[0]


@planted(laws.law_together, "counts", Counts, "encode_columns")
@of_class
def counts_absent_columns_as_none(cells, *_):
    return np.nan_to_num(cells)


@planted(laws.law_together, "indicators", Indicator, "encode_columns")
@of_class
def shifts_indicators(cells, *_):
    return np.roll(cells, 1, axis=1)


@planted(laws.law_together, "pattern", Pattern, "encode_columns")
@of_class
def takes_absent_columns_for_missing(cells, *_):
    return np.where(np.isnan(cells), 1.0, cells)


@planted(laws.law_impute, "percent", Decorated, "decode")
def imputes_numbers_into_text(right):
    return lambda self, cells: np.array([*map(str, self.in_units(cells)), None], object)[:-1]


@planted(laws.law_impute, "centred", Numbers, "decode")
def imputes_without_the_origin(right):
    return lambda self, cells: cells


@planted(laws.law_impute, "money, power", PowerTransformed, "decode")
def imputes_numbers_of_another_form(right):
    return lambda self, cells: self.in_units(cells)


@planted(laws.law_impute, "bins", Bins, "original")
def imputes_bins(right):
    return property(lambda self: self)


@planted(laws.law_impute, "text", Levels, "decode")
def imputes_codes(right):
    return lambda self, cells: np.array([*map(str, cells), None], object)[:-1]
