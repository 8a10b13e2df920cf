// Apple's Combine under its own name: OpenCombine, so that `import Combine` compiles on Linux unchanged.
@_exported public import OpenCombine
@_exported public import OpenCombineDispatch
@_exported public import OpenCombineFoundation
