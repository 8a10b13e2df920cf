import AccessControl
import Auditing
import CanonicalEncoding
import Crypto
import Foundation
import OstiaryMessages
import OwnerKeys
package import Refusals
package import SecretMemory
import Vault

/// Items on their way from one store into another: `Documentation/formats/migration.md`.
extension ItemDraft {
    /// The item but for its data: name of the class (4) || attributes || access control || whether it has data (1); the second and
    /// third behind their length in four bytes.
    package var transferred: [UInt8] {
        var writer = CanonicalWriter(capacity: 512)
        writer.write(fixed: itemClass.name.utf8)
        writer.write(attributes.encoded(of: itemClass), length: UInt32.self)
        writer.write(accessControl.canonicalBytes, length: UInt32.self)
        writer.write(flag: hasData)
        return writer.takeBytes()
    }

    /// The data; nothing for an item without.
    package func copiedData() -> SecretBytes {
        switch data {
        case .some(let data): SecretBytes(copying: data)
        case .none: SecretBytes(zeroed: 0)
        }
    }

    private var hasData: Bool {
        switch data {
        case .some: true
        case .none: false
        }
    }

    /// Reads what ``transferred`` gives, and nothing else. The sender is not trusted: attributes are checked as a program's are.
    package init(transferred head: [UInt8], data: borrowing SecretBytes) throws(Refusal) {
        self = try Self.received(head, data)
    }

    private static func received(_ head: [UInt8], _ data: borrowing SecretBytes) throws(Refusal) -> ItemDraft {
        let read: (itemClass: ItemClass, attributes: ItemAttributes, accessControl: AccessControl, hasData: Bool)
        do { read = try parts(of: head) } catch let refusal as Refusal { throw refusal } catch {
            throw malformed
        }
        guard read.hasData || data.count == 0 else { throw malformed }
        guard let accessibility = try read.attributes.accessibility else { throw malformed }
        try ItemAttributes.require(read.accessControl, accessibility)
        try read.attributes.requireSynchronizable(read.accessControl, isForKey: false)
        try read.attributes.requireFreeform(read.itemClass)
        try read.attributes.requireRuleForPrograms(read.accessControl)
        try ItemStore.requireStorable(read.accessControl)
        var plain: SecretBytes?
        if read.hasData { plain = SecretBytes(copying: data) }
        let draft = ItemDraft(
            itemClass: read.itemClass, attributes: read.attributes, accessControl: read.accessControl, keyID: nil,
            data: plain, applicationPassword: nil)
        guard draft.transferred == head else { throw malformed }
        return draft
    }

    private static func parts(
        of head: [UInt8]
    ) throws -> (itemClass: ItemClass, attributes: ItemAttributes, accessControl: AccessControl, hasData: Bool) {
        var reader = CanonicalReader(head)
        let name = String(decoding: try reader.read(fixed: 4), as: UTF8.self)
        guard let itemClass = ItemClass(name: name) else { throw malformed }
        let encoded = try ItemAttributes(encoded: Data(try reader.read(length: UInt32.self)), of: itemClass)
        var attributes = try ItemAttributes(ofItem: encoded.wire, of: itemClass)
        attributes.shownAccessControl = encoded.shownAccessControl
        let accessControl = try AccessControl(canonicalBytes: try reader.read(length: UInt32.self))
        let flag = try reader.read(UInt8.self)
        try reader.finish()
        guard flag <= 1 else { throw malformed }
        return (itemClass, attributes, accessControl, flag == 1)
    }

    private static let malformed = Refusal(
        .malformed, "An item of the other store has another form.", cause: "migrate.malformed")
}

/// The code over objects on their way: the sender's word for what it sent, and the receiver's for what it reads again.
package struct TransferCode: Sendable {
    package static let keyByteCount = 32
    private var code: HMAC<SHA256>

    package init(key: [UInt8]) { code = HMAC(key: SymmetricKey(data: key)) }

    /// - Parameter kind: of the part.
    package mutating func add(_ kind: UInt8, _ head: [UInt8], _ secret: borrowing SecretBytes) {
        var writer = CanonicalWriter(capacity: 16 + head.count)
        writer.write(kind)
        writer.write(head, length: UInt32.self)
        writer.write(UInt32(secret.count))
        code.update(data: writer.takeBytes())
        unsafe secret.withUnsafeBytes { unsafe code.update(data: $0) }
    }

    package var bytes: [UInt8] { Array(code.finalize()) }
}
