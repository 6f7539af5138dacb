"""Features of images that were extracted once, and lie on the disk.

    python -m saccade.tasks.image.features IMAGES --encoder torchvision:resnet50 --weights FILE --output FOLDER

Both libraries are optional. torchvision is built for one version and build of torch: install it from where torch is
from (for torch's CPU build: pip install torchvision --index-url https://download.pytorch.org/whl/cpu).

`store` holds them, `encoders` builds the networks of torchvision and timm from local weights, `__main__` runs them.
"""
