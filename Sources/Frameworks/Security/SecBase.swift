// Status codes of the Security framework (Apple's SecBase.h), in descending order. Names and values are Apple's.

/// A result of a Security call: zero or one of the codes below.
public typealias OSStatus = Int32

/// No error.
public let noErr: OSStatus = 0

// MARK: Codes shared with the older frameworks

/// No error.
public let errSecSuccess: OSStatus = 0
/// The operation, the algorithm or the export is not available.
public let errSecUnimplemented: OSStatus = -4
/// A bad argument, query or ciphertext.
public let errSecParam: OSStatus = -50
/// Out of memory.
public let errSecAllocate: OSStatus = -108
/// The person dismissed the prompt.
public let errSecUserCanceled: OSStatus = -128
/// A request that could not be understood.
public let errSecBadReq: OSStatus = -909
/// A failure inside.
public let errSecInternalComponent: OSStatus = -2070

// MARK: Keychain

/// No keychain is available, or its database is unusable.
public let errSecNotAvailable: OSStatus = -25291
/// Authentication failed, or is impossible.
public let errSecAuthFailed: OSStatus = -25293
/// An item with these primary attributes exists already.
public let errSecDuplicateItem: OSStatus = -25299
/// No visible item matches.
public let errSecItemNotFound: OSStatus = -25300
/// Interaction is forbidden, or the item is locked.
public let errSecInteractionNotAllowed: OSStatus = -25308
/// Interaction would be needed.
public let errSecInteractionRequired: OSStatus = -25315

// MARK: Decoding, entitlements

/// Bytes could not be decoded, or a computation gave no result.
public let errSecDecode: OSStatus = -26275
/// The caller is not entitled to the group or feature.
public let errSecMissingEntitlement: OSStatus = -34018

// MARK: The common security services

/// The service is not available.
public let errSecServiceNotAvailable: OSStatus = -67585
/// A signature that is not valid. What a failed verification reports is ``errSecVerifyFailed``.
public let errSecInvalidSignature: OSStatus = -67688
/// A signature check failed.
public let errSecVerifyFailed: OSStatus = -67808
