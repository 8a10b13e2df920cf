public import Foundation

// The keys of an Info.plist (Apple's CFBundle.h), for `Bundle.object(forInfoDictionaryKey:)` and `infoDictionary`. On Linux a
// program has one when an `Info.plist` lies beside its executable.

/// The bundle identifier: `CFBundleIdentifier`.
public var kCFBundleIdentifierKey: CFString! { "CFBundleIdentifier" }

/// The short name of the bundle: `CFBundleName`.
public var kCFBundleNameKey: CFString! { "CFBundleName" }

/// The build number: `CFBundleVersion`.
public var kCFBundleVersionKey: CFString! { "CFBundleVersion" }

/// The name of the executable: `CFBundleExecutable`.
public var kCFBundleExecutableKey: CFString! { "CFBundleExecutable" }

/// The version of the list's form: `CFBundleInfoDictionaryVersion`.
public var kCFBundleInfoDictionaryVersionKey: CFString! { "CFBundleInfoDictionaryVersion" }

/// The native region: `CFBundleDevelopmentRegion`.
public var kCFBundleDevelopmentRegionKey: CFString! { "CFBundleDevelopmentRegion" }

/// The languages: `CFBundleLocalizations`.
public var kCFBundleLocalizationsKey: CFString! { "CFBundleLocalizations" }
