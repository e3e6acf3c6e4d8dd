"""Small immutable values with named parts, compared and hashed by these parts.

A record is like a frozen dataclass, but `dataclasses` compiles code for each class. With about 150 small classes, that
would take much of the time of a short command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

if TYPE_CHECKING:
    from inspect import Signature


class _Signature:
    """The signature of a record class, for `help` and editors. It is made when someone asks for it."""

    def __get__(self, record: object, kind: type[Record]) -> Signature:
        from inspect import Parameter, Signature, get_annotations

        if record is not None or kind.__init__ is not Record.__init__:
            raise AttributeError("__signature__")
        annotations = {name: text for base in reversed(kind.__mro__) for name, text in get_annotations(base).items()}
        return Signature(
            [
                Parameter(
                    name,
                    Parameter.POSITIONAL_OR_KEYWORD,
                    default=getattr(kind, name, Parameter.empty),
                    annotation=annotations[name],
                )
                for name in kind._names
            ]
        )


@dataclass_transform(frozen_default=True)
class Record:
    """An immutable value. Its parts are the annotated names of the class and its base classes, with defaults.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(x=1, y=0), len({Point(1), Point(1)})
    (Point(x=1, y=0), True, 1)
    >>> Point(1).x = 2
    Traceback (most recent call last):
    ...
    AttributeError: Point is immutable
    """

    _names: ClassVar[tuple[str, ...]] = ()
    __signature__: ClassVar[Any] = _Signature()

    def __init_subclass__(cls) -> None:
        inherited = (name for base in reversed(cls.__mro__[1:]) for name in getattr(base, "_names", ()))
        own = (name for name, kind in cls.__annotations__.items() if "ClassVar" not in str(kind))
        cls._names = tuple(dict.fromkeys((*inherited, *own)))

    def __init__(self, *values: Any, **named: Any) -> None:
        parts = self._names
        if len(values) > len(parts):
            raise TypeError(f"{type(self).__name__} takes {len(parts)} values, not {len(values)}")
        given = dict(zip(parts, values, strict=False))
        for name in named:
            if name not in parts or name in given:
                raise TypeError(f"{type(self).__name__} has no part '{name}', or was given it twice")
        given.update(named)
        missing = [name for name in parts if name not in given and not hasattr(type(self), name)]
        if missing:
            raise TypeError(f"{type(self).__name__} lacks {', '.join(missing)}")
        self.__dict__.update(given)

    def changed(self, **parts: Any) -> Self:
        """Return a record with other values for some parts.

        >>> class Point(Record):
        ...     x: int
        ...     y: int = 0
        >>> Point(1).changed(y=2)
        Point(x=1, y=2)
        """
        given = {name: value for name, value in vars(self).items() if name in self._names}
        return type(self)(**given | parts)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and values_of(self) == values_of(other)

    def __hash__(self) -> int:
        return hash((type(self), values_of(self)))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in zip(self._names, values_of(self), strict=True))
        return f"{type(self).__name__}({inner})"


class FinalRecord(Record):
    """A record whose subclasses are final, unless their class statement says `final=False`.

    >>> class Shape(FinalRecord, final=False):
    ...     pass
    >>> class Circle(Shape):
    ...     radius: float
    >>> class Wheel(Circle):
    ...     pass
    Traceback (most recent call last):
    ...
    TypeError: Circle is final: what is known of a Circle need not hold for Wheel. Derive Wheel from Shape
    """

    _final: ClassVar[bool] = False

    def __init_subclass__(cls, final: bool = True) -> None:
        super().__init_subclass__()
        for base in cls.__bases__:
            if base.__dict__.get("_final"):
                kinds = [kind for kind in base.__mro__ if FinalRecord in kind.__bases__]
                raise TypeError(
                    f"{base.__name__} is final: what is known of a {base.__name__} need not hold for {cls.__name__}. "
                    f"Derive {cls.__name__} from {kinds[0].__name__}"
                )
        cls._final = final


def values_of(record: Record) -> tuple[Any, ...]:
    """Return the values of the parts, in the order of their declaration."""
    return tuple(getattr(record, name) for name in record._names)
