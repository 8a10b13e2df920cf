/// The attributes of items, by the four letters of Apple's `kSecAttr…` constants.
enum AttributeName: String, CaseIterable, Sendable {
    // every class
    case accessible = "pdmn"
    case accessControl = "accc"
    case accessGroup = "agrp"
    case synchronizable = "sync"
    case creationDate = "cdat"
    case modificationDate = "mdat"
    case label = "labl"
    case alias = "alis"
    case viewHint = "vwht"
    case tokenID = "tkid"
    case multiUser = "musr"
    case tombstone = "tomb"
    case digest = "sha1"
    case sharingGroup = "ggrp"
    case systemBound = "sysb"
    case uuid = "UUID"
    // passwords
    case account = "acct"
    case service = "svce"
    case generic = "gena"
    case securityDomain = "sdmn"
    case server = "srvr"
    case networkProtocol = "ptcl"
    case authenticationType = "atyp"
    case port = "port"
    case path = "path"
    case itemDescription = "desc"
    case comment = "icmt"
    case creator = "crtr"
    case type = "type"
    case scriptCode = "scrp"
    case isInvisible = "invi"
    case isNegative = "nega"
    case hasCustomIcon = "cusi"
    case protectedData = "prot"
    // keys; creator and type as well
    case keyClass = "kcls"
    case applicationLabel = "klbl"
    case applicationTag = "atag"
    case keySizeInBits = "bsiz"
    case effectiveKeySize = "esiz"
    case startDate = "sdat"
    case endDate = "edat"
    case isPermanent = "perm"
    case isPrivate = "priv"
    case isModifiable = "modi"
    case isSensitive = "sens"
    case wasAlwaysSensitive = "asen"
    case isExtractable = "extr"
    case wasNeverExtractable = "next"
    case canEncrypt = "encr"
    case canDecrypt = "decr"
    case canDerive = "drve"
    case canSign = "sign"
    case canVerify = "vrfy"
    case canSignRecover = "snrc"
    case canVerifyRecover = "vyrc"
    case canWrap = "wrap"
    case canUnwrap = "unwp"
    case tokenObjectID = "toid"
    // certificates
    case certificateType = "ctyp"
    case certificateEncoding = "cenc"
    case subject = "subj"
    case issuer = "issr"
    case serialNumber = "slnr"
    case subjectKeyID = "skid"
    case publicKeyHash = "pkhh"
}

/// The way in which an attribute's value is read and stored.
enum AttributeForm: Sendable {
    /// Text, data or a number, kept as given.
    case blob
    /// Data; text and numbers become data.
    case data
    /// Text; data is read as UTF-8.
    case string
    /// A number; text that is none is kept as text, since Apple's protocols and ports are given so.
    case number
    case date
    /// A ``SecAccessControl``.
    case accessControl
}
