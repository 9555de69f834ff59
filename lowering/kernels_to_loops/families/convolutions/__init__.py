"""CPU code of convolutions that are not register tiles over panels: Winograd, depthwise, fused bands, direct."""
