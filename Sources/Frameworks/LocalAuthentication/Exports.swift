// An import of Apple's LocalAuthentication also imports its enumerations and constants, Foundation, and Security, whose
// algorithms the keys of rights take.
@_exported public import CLocalAuthentication
@_exported public import Foundation
@_exported public import Security
