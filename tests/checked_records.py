"""Every record that is made during the tests has the types and shapes it declares, or the test fails."""

from dataclasses import fields
from functools import wraps

import numpy as np

import sepc.records as records
from sepc.records import DECLARATION, Array, Labels, Lists, Part, Parts, Texts


def check_records():
    """Let all records that are declared from now on check themselves when they are made."""
    declare = records.record

    def declare_checked(kind):
        made = declare(kind)
        make = made.__init__

        @wraps(make)
        def make_and_check(self, *given, **named):
            make(self, *given, **named)
            check_shapes(self, {})

        made.__init__ = make_and_check
        return made

    records.record = declare_checked


def check_shapes(record, sizes):
    """Fail unless the sizes of all arrays and lists agree, those of the parts included; found ones go into `sizes`."""
    for own in fields(record):
        value, declaration = getattr(record, own.name), own.metadata[DECLARATION]
        where = f"{type(record).__name__}.{own.name}"
        match declaration:
            case Array(kind, shape):
                assert isinstance(value, np.ndarray), f"{where} is {type(value).__name__}, not an array"
                assert value.dtype == kind, f"{where} holds {value.dtype}, not {np.dtype(kind)}"
                assert value.ndim == len(shape), f"{where} has {value.ndim} axes, not {len(shape)}"
                if value.size or not declaration.may_lack:
                    check_sizes(where, shape, value.shape, sizes)
            case Labels(size) | Texts(size):
                check_sizes(where, [size], [len(value)], sizes)
            case Lists(shape):
                check_sizes(where, shape[:1], [len(value)], sizes)
            case Part() if value is not own.default:  # which stands for a part that is not there
                check_shapes(value, sizes if declaration.is_inline else dict(sizes))
            case Parts():
                for each in value:
                    check_shapes(each, dict(sizes))


def check_sizes(where, shape, found, sizes):
    """Fail unless each axis has the size that its letters have had so far."""
    for axis, n in zip(shape, found, strict=True):
        terms = [int(term) if term.isdigit() else sizes.get(term) for term in axis.split("+")]
        if None not in terms:
            assert n == sum(terms), f"{where} has size {n} along {axis}, which is {sum(terms)}"
        elif len(terms) == 1:
            sizes[axis] = n
