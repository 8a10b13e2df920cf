public import Foundation

/// Names a passkey (Apple's class of the same name).
open class ASAuthorizationPlatformPublicKeyCredentialDescriptor: NSObject, ASAuthorizationPublicKeyCredentialDescriptor,
    @unchecked Sendable
{
    // SAFETY: (@unchecked) the lock of its fields guards every change.
    private let fields: LockedFields<DescriptorFields>

    public convenience init(credentialID: Data) { self.init(DescriptorFields(credentialID: credentialID)) }

    init(_ stored: DescriptorFields) { fields = LockedFields(stored) }

    public required init?(coder: NSCoder) {
        guard let decoded = coder.decodeFields(DescriptorFields.self) else { return nil }
        fields = LockedFields(decoded)
    }

    public var credentialID: Data {
        get { fields[\.credentialID] }
        set { fields[\.credentialID] = newValue }
    }

    var stored: DescriptorFields { fields.all }

    open func encode(with coder: NSCoder) { coder.encode(fields: fields.all) }
    open func copy(with zone: NSZone? = nil) -> Any {
        ASAuthorizationPlatformPublicKeyCredentialDescriptor(fields.all)
    }
    public class var supportsSecureCoding: Bool { true }
}
