"""Precomputed features of images on the disk.

    python -m saccade.tasks.image.features IMAGES --encoder torchvision:resnet50 --weights FILE --output FOLDER

torchvision and timm are optional. A build of torchvision fits one version and build of torch: install both from the
same index (for torch's CPU build: pip install torchvision --index-url https://download.pytorch.org/whl/cpu).

`store` reads and writes features, and `__main__` is the program. `saccade.models.encoders` builds the networks.
"""
