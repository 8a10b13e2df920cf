public import Foundation

/// Names a credential on a security key (Apple's class of the same name).
open class ASAuthorizationSecurityKeyPublicKeyCredentialDescriptor: NSObject,
    ASAuthorizationPublicKeyCredentialDescriptor,
    @unchecked Sendable
{
    // SAFETY: (@unchecked) the lock of its fields guards every change.

    /// How a security key can be reached.
    public struct Transport: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(_ rawValue: String) { self.rawValue = rawValue }

        public static let usb = Self(rawValue: "usb")
        public static let nfc = Self(rawValue: "nfc")
        public static let bluetooth = Self(rawValue: "ble")

        /// Every transport that Apple's systems know.
        public static var allSupported: [Transport] { [.usb, .nfc, .bluetooth] }
    }

    private let fields: LockedFields<DescriptorFields>

    /// - Parameter transports: how the key can be reached; empty when that is unknown.
    public convenience init(credentialID: Data, transports: [Transport]) {
        self.init(DescriptorFields(credentialID: credentialID, transports: transports.map(\.rawValue)))
    }

    init(_ stored: DescriptorFields) { fields = LockedFields(stored) }

    public required init?(coder: NSCoder) {
        guard let decoded = coder.decodeFields(DescriptorFields.self) else { return nil }
        fields = LockedFields(decoded)
    }

    public var credentialID: Data {
        get { fields[\.credentialID] }
        set { fields[\.credentialID] = newValue }
    }

    public var transports: [Transport] {
        get { fields[\.transports].map(Transport.init(rawValue:)) }
        set { fields[\.transports] = newValue.map(\.rawValue) }
    }

    var stored: DescriptorFields { fields.all }

    open func encode(with coder: NSCoder) { coder.encode(fields: fields.all) }
    open func copy(with zone: NSZone? = nil) -> Any {
        ASAuthorizationSecurityKeyPublicKeyCredentialDescriptor(fields.all)
    }
    public class var supportsSecureCoding: Bool { true }
}

/// Every transport that Apple's systems know (Apple's function of the same name).
public func ASAuthorizationAllSupportedPublicKeyCredentialDescriptorTransports()
    -> [ASAuthorizationSecurityKeyPublicKeyCredentialDescriptor.Transport]
{ ASAuthorizationSecurityKeyPublicKeyCredentialDescriptor.Transport.allSupported }
