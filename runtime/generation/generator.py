"""Generator: the tokens with which a language model continues prompts.

    generator = mi.Generator("model.onnx", top_k=40)
    for tokens in generator.generate([[5, 17, 230]], tokens=100, temperature=0.7, seed=1):
        print(tokens)                  # the next token of each sequence; None behind a stop token

Each prompt is read by itself, by up to `chunk` tokens at once. Then a step is one inference for all sequences, at whose
end their tokens are chosen. Caches lie in memory for `capacity` tokens that is allocated once. Where the model joins
new keys to old ones, shorter sequences begin later in their caches, and the mask leaves out what is before; where it
writes into caches at places of their own, they end earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from os import PathLike
from typing import Any, cast

import numpy as np
from typing_extensions import Unpack

from ...dialects.arguments import check_integer, checked_mapping, checked_path, checked_sequence, is_integer, wrong
from ...dialects.errors import ConfigError, InvalidInputError
from ...lowering.onnx_to_graph.language_models.language_model import read_language_model
from ..compile.entry import compile
from ..config import CompileOptions
from ..device import Array
from ..kept.cache_folders import Cache
from ..memory.tensor import Tensor
from ..profile import OptimizationProfile
from ..progress import Progress
from .cache_context import CacheContext, of_sequence
from .model_folder import model_folder
from .model_sizes import model_sizes
from .token_inputs import Call, TokenInputs

OWN_OPTIONS = ("profile", "caches", "next_token", "enable_dynamic_shapes", "shapes", "check_memory")


class Generator:
    """A language model that continues sequences of tokens. It serves one thread at a time.

    capacity: tokens of a sequence that there is room for, the prompt's included. sequences: most of them at a time.
    top_k: a token is drawn from so many of the most likely ones: 1 is the most likely, 0 one of all. chunk: tokens of a
    prompt that are read at once, by default all where caches grow, as some models can't read any behind others, and
    otherwise 512. `options` are those of `compile`, but for those that the loop over tokens sets.

    Raises InvalidModelError for a model that is no language model with caches, ConfigError for other options, and as
    `compile` does.
    """

    def __init__(
        self,
        model: str | PathLike[str],
        threads: int | None = None,
        *,
        capacity: int = 1024,
        sequences: int = 1,
        top_k: int = 1,
        chunk: int | None = None,
        cache: Cache = None,
        progress: Callable[[Progress], None] | None = None,
        **options: Unpack[CompileOptions],
    ) -> None:
        for name, given, least in (("capacity", capacity, 2), ("sequences", sequences, 1), ("top_k", top_k, 0)):
            check_integer(name, given, least)
        if chunk is not None:
            check_integer("chunk", chunk, 1)
        if own := [name for name in OWN_OPTIONS if name in options]:
            raise ConfigError(f"{own[0]} is no option of a Generator, which sets it")
        folder = model_folder(checked_path("model", model, wanted="the path of an .onnx file, or of its folder"))
        interface = read_language_model(folder.path, folder.names)
        dims = checked_mapping("dims", options.get("dims") or {}, "dimensions to sizes")
        sizes = model_sizes(interface, folder, capacity, sequences, chunk, dims)
        made: dict[str, Any] = {
            **options,
            "dims": sizes.dims,
            "caches": {each.past: each.present for each in sizes.caches},
            "next_token": top_k,
        }
        if sizes.ranges:
            made["profile"] = OptimizationProfile(dims=sizes.ranges)
        if (kept := interface.inputs.get("kept")) is not None:
            made["specialize"] = {**made.get("specialize", {}), kept.name: np.ones((1,)[: len(kept.shape)], kept.dtype)}
        self.engine = compile(folder.path, threads, cache=cache, progress=progress, **made)
        specs = {each.name: each.shape for each in (*self.engine.plan.inputs, *self.engine.plan.outputs)}
        for pair, shape in zip(interface.caches, sizes.caches, strict=True):
            if not pair.shared and shape.token_axis is None and specs[shape.past] != specs[shape.present]:
                raise InvalidInputError(f"dims: '{shape.past}' grows with every token, and has no size of its own")
        self.stop: tuple[int, ...] = tuple(folder.stop)
        """Tokens that end a sequence, if the model's configuration says so."""
        bounded = options.get("cache_memory") is not None
        held = self.engine.plan.memory.tokens if bounded else 0  # 0 where caches don't grow
        self.capacity, self.sequences = min(sizes.capacity, held or sizes.capacity), sequences
        scales = (each.scales for each in sizes.caches)
        self._caches = [*sizes.caches, *(each for each in scales if each.past in self.engine.input_names)]
        self._chunk, self._top_k = sizes.chunk, top_k
        self._grows = any(each.token_axis is not None for each in sizes.caches)
        self._may_differ = not self._grows or "mask" in interface.inputs
        self._largest = int(np.iinfo(interface.inputs["ids"].dtype.name).max)
        self._holder: Sequence[Sequence[int]] = ()
        """The prompts whose sequences lie in the caches."""
        self._inputs = TokenInputs(interface, sizes.capacity, first=not self._grows)
        self._memory: dict[str, Tensor] = {}
        self._contexts: dict[object, CacheContext] = {}

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        tokens: int | None = None,
        *,
        temperature: float = 1.0,
        top_p: float = 1.0,
        seed: int = 0,
        stop: Collection[int] | None = None,
    ) -> Iterator[list[int | None]]:
        """The next token of each sequence, `tokens` times, or for as long as there is room.

        A sequence ends with one of `stop`, by default the model's own; behind it, its tokens are None, and the end of
        all is the end. A later call takes the caches over: further steps of this one raise InvalidInputError, as wrong
        arguments do. Tokens are drawn by `seed` alone, with probabilities sharpened by a `temperature` below 1, from
        the most likely ones whose probabilities add up to `top_p` (not with top_k=0).
        """
        read = self._checked(prompts, tokens)
        _check_more_than_0("temperature", temperature, float(np.finfo(np.float32).max), "and finite")
        _check_more_than_0("top_p", top_p, 1, "and at most 1")
        check_integer("seed", seed, 0, InvalidInputError)
        ends = set(self.stop if stop is None else self._checked_tokens("stop", stop))
        for name, value in (("temperature", temperature), ("top_p", top_p)):
            if value != 1 and self._top_k == 1:
                raise InvalidInputError(f"{name} does nothing with top_k=1, the most likely token")
        if top_p != 1 and self._top_k == 0:
            raise InvalidInputError("top_p needs a top_k: of all tokens the most likely ones are not looked for")
        count = self.capacity - max(map(len, read)) + 1 if tokens is None else tokens
        chance = None
        if self._top_k != 1:
            given = {"temperature": temperature, **({"top_p": top_p} if self._top_k else {})}
            chance = _Chance(np.random.default_rng(seed), len(read), given)
        return self._tokens(read, count, ends, chance)

    def _checked(self, prompts: Iterable[Iterable[int]], tokens: int | None) -> list[list[int]]:
        """The prompts, if there is room for them and as many tokens more."""
        wanted = "a sequence of prompts, each a sequence of tokens"
        given = checked_sequence("prompts", prompts, wanted, InvalidInputError)
        read = [self._checked_tokens(f"prompts[{number}]", prompt) for number, prompt in enumerate(given)]
        lengths = [len(each) for each in read]
        if not 0 < len(lengths) <= self.sequences:
            raise InvalidInputError(f"there are {len(lengths)} prompts; the generator is for 1 to {self.sequences}")
        if 0 in lengths:
            raise InvalidInputError(f"prompts[{lengths.index(0)}] has no tokens")
        if tokens is not None:
            check_integer("tokens", tokens, 1, InvalidInputError)
        if max(lengths) + (tokens or 1) - 1 > self.capacity:
            raise InvalidInputError(
                f"a prompt of {max(lengths)} tokens with {tokens or 1} more exceeds the capacity of {self.capacity}"
            )
        if len(set(lengths)) > 1 and not self._may_differ:
            raise InvalidInputError(
                f"prompts have {min(lengths)} to {max(lengths)} tokens; without a mask as input all must have as many"
            )
        return read

    def _checked_tokens(self, what: str, value: Iterable[int]) -> list[int]:
        """Tokens, in the range of the model's input."""
        tokens = checked_sequence(what, value, "a sequence of tokens", InvalidInputError)
        for token in tokens:
            if not is_integer(token) or not 0 <= token <= self._largest:
                raise wrong(f"{what}: a token", token, f"an integer from 0 to {self._largest}", InvalidInputError)
        return [int(token) for token in tokens]

    def _tokens(
        self, prompts: Sequence[Sequence[int]], count: int, ends: set[int], chance: _Chance | None
    ) -> Iterator[list[int | None]]:
        batch, lengths = len(prompts), [len(each) for each in prompts]
        self._clear(batch)
        self._holder = prompts
        drawn: Mapping[str, Array] = {} if chance is None else chance.inputs()
        found = np.zeros((batch, 1), np.int64)
        for number, prompt in enumerate(prompts):
            own = {name: each[number : number + 1] if each.ndim == 2 else each for name, each in drawn.items()}
            for start in range(0, len(prompt), self._chunk):
                ids = np.asarray(prompt[start : start + self._chunk], np.int64)[None]
                found[number] = self._call(Call(ids, [start], start), own, number if batch > 1 else None)
        past, over = max(lengths), [False] * batch
        self._move_to_the_end(lengths, past)
        for step in range(count):
            if step:
                if self._holder is not prompts:
                    raise InvalidInputError("generate was called anew, which took over the caches of this sequence")
                drawn = {} if chance is None else chance.inputs()
                found[...] = self._call(Call(found, lengths, past), drawn)
                lengths, past = [length + 1 for length in lengths], past + 1
            tokens = [int(token) for (token,) in found]
            yield [None if done else token for token, done in zip(tokens, over, strict=True)]
            over = [done or token in ends for token, done in zip(tokens, over, strict=True)]
            if all(over):
                return

    def _shapes(self, batch: int, rows: int, past: int) -> dict[str, tuple[int, ...]]:
        """The shapes of all inputs."""
        shapes = self._inputs.shapes(batch, rows, past)
        alike = {each.sizes: each.shape(batch, past) for each in self._caches}
        shapes |= {each.past: alike[each.sizes] for each in self._caches}
        drawn = {"temperature": (1,), "top_p": (1,), "uniform": (batch, 1)}
        return shapes | {name: shape for name, shape in drawn.items() if name in self.engine.input_names}

    def _clear(self, batch: int) -> None:
        """Makes caches for so many sequences, and clears those that are read whole."""
        plan = self.engine.plan_for(self._shapes(batch, 1, 1))
        rooms = {each.past: plan.room(each.past) for each in self._caches}
        if any(name not in self._memory or self._memory[name].shape != each.shape for name, each in rooms.items()):
            place = plan.config.place
            self._memory = {name: Tensor.empty(each.shape, each.dtype, device=place) for name, each in rooms.items()}
            self._contexts = {}
        for each in self._caches:
            if each.token_axis is None:
                self._memory[each.past].storage.zero()

    def _call(self, call: Call, drawn: Mapping[str, Array], sequence: int | None = None) -> Array:
        """The next tokens, from a call of all sequences or of one."""
        batch, rows = call.ids.shape
        plan = self.engine.plan_for(self._shapes(batch, rows, call.past))
        if plan.family not in self._contexts:
            self._contexts[plan.family] = CacheContext(plan)
        caches = self._memory
        if sequence is not None:
            caches = {name: of_sequence(each, sequence) for name, each in caches.items()}
        return self._contexts[plan.family].run(plan, {**self._inputs.fill(call), **drawn}, caches, sequence)

    def _move_to_the_end(self, lengths: Sequence[int], past: int) -> None:
        """Moves the tokens of shorter sequences to the last of `past` places, where new ones are joined to them."""
        for cache in self._caches:
            axis = cache.token_axis
            for number, length in enumerate(lengths):
                if axis is not None and length < past:
                    there = of_sequence(self._memory[cache.past], number)
                    here = there.to("cpu").numpy()
                    own = np.moveaxis(here, axis, 0)
                    own[past - length : past] = own[:length].copy()
                    own[: past - length] = 0
                    if there.device != "cpu":
                        there.copy_from(here)


def _check_more_than_0(name: str, value: object, most: float, wanted: str) -> None:
    """Raises InvalidInputError unless it is a number in (0, most], in f32, too."""
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool)
    if not is_number or not float(np.finfo(np.float32).tiny) <= float(cast("float", value)) <= most:
        raise wrong(name, value, f"more than 0 {wanted}, in 32 bits", InvalidInputError)


class _Chance:
    """The inputs by which tokens are drawn, in arrays that stay."""

    def __init__(self, numbers: np.random.Generator, batch: int, constant: Mapping[str, float]) -> None:
        self._numbers, self._uniform = numbers, np.zeros((batch, 1), np.float32)
        arrays = {name: np.full(1, value, np.float32) for name, value in constant.items()}
        self._inputs = {**arrays, "uniform": self._uniform}

    def inputs(self) -> Mapping[str, Array]:
        """Fresh numbers for all sequences."""
        self._numbers.random(dtype=np.float32, out=self._uniform)
        return self._inputs
