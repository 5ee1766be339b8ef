"""What a session sees of its phone, and what of it its client holds already."""

from __future__ import annotations

from rlfactory.emulators.device.device import Device, Image, ImageSpec, Screen
from rlfactory.emulators.device.pixels import smart_size
from rlfactory.emulators.device.ui import UiNode, to_xml
from rlfactory.envs.api.coordinates import ScreenSize
from rlfactory.envs.api.tracing import part
from rlfactory.envs.api.types import ImageRef, Observation, SessionOptions
from rlfactory.envs.service.limits import Limits


class PhoneObserver:
    """Observes a phone as the session's options ask; sequence numbers rise by one."""

    def __init__(self, device: Device, options: SessionOptions, limits: Limits) -> None:
        self._device = device
        self._options = options
        self._spec = ImageSpec(
            format=options.image_format.value,
            quality=options.image_quality,
            max_pixels=min(options.max_pixels or limits.max_image_pixels, limits.max_image_pixels),
            multiple_px=options.multiple_px,
        )
        self.latest = Observation(sequence=0)
        self._image_px = (0, 0)
        self._tree: UiNode | None = None
        """Which `latest.tree_xml` is of."""

    async def look(self, *, timeout_s: float) -> Observation:
        """Observe, and keep it as the latest. Raises: DeviceError."""
        with part("device.observe"):
            wanted = self._spec if self._options.with_image else None
            screen = await self._device.observe(wanted, with_tree=self._options.with_tree, timeout_s=timeout_s)
        self._image_px = self._image_size(screen)
        self.latest = Observation(
            sequence=self.latest.sequence + 1,
            image=self._image_of(screen.image) if screen.image else None,
            tree_xml=self._xml_of(screen.tree),
            activity=screen.activity,
            width_px=screen.width_px,
            height_px=screen.height_px,
        )
        return self.latest

    def _xml_of(self, tree: UiNode | None) -> str:
        """Return a tree as the wire has it; phones whose screen has not changed give the same object again."""
        xml = self.latest.tree_xml if tree is self._tree else to_xml(tree) if tree is not None else ""
        self._tree = tree
        return xml

    def continue_from(self, parent: PhoneObserver) -> None:
        """Take over what the parent of a fork saw last."""
        self.latest, self._image_px = parent.latest, parent._image_px

    def screen_size(self) -> ScreenSize:
        """Return the sizes that coordinates refer to now."""
        return ScreenSize(
            width_px=self.latest.width_px,
            height_px=self.latest.height_px,
            image_width_px=self._image_px[0],
            image_height_px=self._image_px[1],
        )

    def _image_size(self, screen: Screen) -> tuple[int, int]:
        """Return the picture's width and height in pixels; those it would have where none is wanted."""
        if screen.image is not None:
            return screen.image.width_px, screen.image.height_px
        spec = self._spec
        return smart_size(screen.width_px, screen.height_px, max_pixels=spec.max_pixels, multiple_px=spec.multiple_px)

    def _image_of(self, image: Image) -> ImageRef:
        return ImageRef(
            data=image.data,
            format=self._options.image_format,
            width_px=image.width_px,
            height_px=image.height_px,
            digest=image.digest,
        )


class SentImages:
    """The digests a session's client has received: the bytes of these need not be sent again."""

    def __init__(self) -> None:
        self._digests: set[str] = set()

    def is_new(self, observation: Observation) -> bool:
        """Tell whether the observation's image has to be sent, and count it as sent from now on."""
        image = observation.image
        if image is None or image.digest in self._digests:
            return False
        self._digests.add(image.digest)
        return True
