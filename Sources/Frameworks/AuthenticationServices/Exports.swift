@_exported public import CAuthenticationServices
@_exported public import Foundation
