"""GPU code of convolutions that are not products of matrices: depthwise."""
