"""Faces in a picture: an SSD detector, and suppression of boxes that overlap.

python ultraface_detect.py ultraface_rfb_320.onnx
"""

# pyright: basic
import sys
from typing import Any

import numpy as np
import onnxruntime as ort

Array = np.ndarray[Any, np.dtype[Any]]


def area_of(left_top: Array, right_bottom: Array) -> Array:
    sides = np.clip(right_bottom - left_top, 0.0, None)
    return sides[..., 0] * sides[..., 1]


def iou_of(boxes0: Array, boxes1: Array) -> Array:
    overlap = area_of(np.maximum(boxes0[..., :2], boxes1[..., :2]), np.minimum(boxes0[..., 2:], boxes1[..., 2:]))
    areas = area_of(boxes0[..., :2], boxes0[..., 2:]) + area_of(boxes1[..., :2], boxes1[..., 2:])
    return overlap / (areas - overlap + 1e-5)


def hard_nms(boxes: Array, scores: Array, threshold: float) -> list[int]:
    """The boxes that overlap none of a higher score."""
    picked: list[int] = []
    order = scores.argsort()
    while len(order):
        current = order[-1]
        picked.append(int(current))
        order = order[:-1]
        order = order[iou_of(boxes[order], boxes[current][None]) <= threshold]
    return picked


def predict(width: int, height: int, confidences: Array, boxes: Array, least: float) -> tuple[Array, Array]:
    """The boxes of faces in pixels, and their scores."""
    boxes, scores = boxes[0], confidences[0][:, 1]
    boxes, scores = boxes[scores > least], scores[scores > least]
    picked = hard_nms(boxes, scores, 0.3)
    return (boxes[picked] * [width, height, width, height]).round(1), scores[picked]


def picture(width: int, height: int) -> Array:
    """Ovals with darker eyes and mouths, and noise."""
    y, x = np.mgrid[0:height, 0:width]
    image = np.full((height, width, 3), 90.0) + np.random.default_rng(1).normal(0, 4, (height, width, 1))
    for left, top, size in ((60, 40, 100), (380, 120, 160)):
        u, v = (x - left) / size - 0.5, (y - top) / (1.3 * size) - 0.5
        image[u**2 + v**2 < 0.25] = (214, 170, 140)
        for eye in (-0.2, 0.2):
            image[((u - eye) / 0.09) ** 2 + ((v + 0.1) / 0.04) ** 2 < 1] = (40, 30, 30)
        image[(u / 0.18) ** 2 + ((v - 0.25) / 0.04) ** 2 < 1] = (150, 60, 60)
    return image.clip(0, 255).astype(np.uint8)


def resized(image: Array, width: int, height: int) -> Array:
    rows = np.arange(height) * image.shape[0] // height
    columns = np.arange(width) * image.shape[1] // width
    return image[rows][:, columns]


def main() -> None:
    face_detector: Any = ort.InferenceSession(sys.argv[1])
    input_name = face_detector.get_inputs()[0].name
    for width, height in ((640, 480), (800, 450)):
        image = resized(picture(width, height), 320, 240)
        image = (image - np.array([127, 127, 127])) / 128
        image = np.transpose(image, [2, 0, 1])
        image = np.expand_dims(image, axis=0).astype(np.float32)
        confidences, boxes = face_detector.run(None, {input_name: image})
        found, scores = predict(width, height, confidences, boxes, 0.3)
        print("picture", width, height, "best", round(float(confidences[0, :, 1].max()), 4))
        for box, score in zip(found, scores, strict=True):
            print("face", *box, "score", round(float(score), 3))


if __name__ == "__main__":
    main()
