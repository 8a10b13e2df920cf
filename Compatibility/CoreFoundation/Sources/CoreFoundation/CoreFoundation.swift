// Core Foundation's names as Security has them. Without this module a file that imports both finds two of each.
@_exported public import Foundation
@_exported public import Security
