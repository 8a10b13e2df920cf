import CFIDO2
import SecurityKeyProtocol

/// The key's description of itself (authenticatorGetInfo), copied out of libfido2.
struct KeyInfo {
    private(set) var description = KeyDescription()
    /// The most credentials of one list.
    private(set) var listCount = 1
    /// The longest credential identifier; nil when the key does not tell.
    private(set) var credentialByteCount: Int?

    init(of device: OpaquePointer?) throws {
        var info = fido_cbor_info_new()
        defer { fido_cbor_info_free(&info) }
        try FIDOError.check(fido_dev_get_cbor_info(device, info))
        description.isFIDO2 = true
        description.aaguid = Array(
            UnsafeBufferPointer(start: fido_cbor_info_aaguid_ptr(info), count: fido_cbor_info_aaguid_len(info)))
        guard description.aaguid.count == 16 else { throw FIDOError(code: FIDO_ERR_RX_INVALID_CBOR) }
        description.algorithms = (0..<min(fido_cbor_info_algorithm_count(info), 16)).map {
            fido_cbor_info_algorithm_cose(info, $0)
        }
        let transports = Self.texts(fido_cbor_info_transports_ptr(info), fido_cbor_info_transports_len(info))
        description.transports = KeyDescription.knownTransports.filter(transports.contains)
        readFeatures(of: info)
        listCount = Int(clamping: max(1, fido_cbor_info_maxcredcntlst(info)))
        let longest = fido_cbor_info_maxcredidlen(info)
        credentialByteCount = longest == 0 ? nil : Int(clamping: longest)
    }

    private mutating func readFeatures(of info: OpaquePointer?) {
        let names = Self.texts(fido_cbor_info_options_name_ptr(info), fido_cbor_info_options_len(info))
        let values = UnsafeBufferPointer(
            start: fido_cbor_info_options_value_ptr(info), count: fido_cbor_info_options_len(info))
        let options = Dictionary(zip(names, values)) { first, _ in first }
        let extensions = Self.texts(fido_cbor_info_extensions_ptr(info), fido_cbor_info_extensions_len(info))
        let protocols = UnsafeBufferPointer(
            start: fido_cbor_info_protocols_ptr(info), count: fido_cbor_info_protocols_len(info))
        var features: KeyDescription.Features = []
        func set(_ feature: KeyDescription.Features, _ isSet: Bool) { if isSet { features.insert(feature) } }
        set(.supportsPIN, options["clientPin"] != nil)
        set(.hasPIN, options["clientPin"] == true)
        set(.verifiesUser, options["uv"] == true)
        set(.discoverable, options["rk"] == true)
        set(.alwaysVerifies, options["alwaysUv"] == true)
        set(.createsUnverified, options["makeCredUvNotRqd"] == true)
        set(.hmacSecret, extensions.contains("hmac-secret"))
        set(.credentialProtection, extensions.contains("credProtect"))
        set(.largeBlobs, options["largeBlobs"] == true && extensions.contains("largeBlobKey"))
        set(.needsNewPIN, fido_cbor_info_new_pin_required(info))
        set(.pinProtocolTwo, protocols.contains(2))
        description.features = features
    }

    private static func texts(
        _ texts: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ count: Int
    ) -> [String] {
        UnsafeBufferPointer(start: texts, count: min(count, 64)).map { text in
            text.map { String(cString: $0) } ?? ""
        }
    }
}
