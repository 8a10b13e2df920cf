import SecretItems

/// A keyring of another program, as an import reads it. Calls block.
protocol SourceKeyring {
    func collections() throws(SourceFailure) -> [SourceCollection]
    /// Has the keyring unlock objects; it asks the person itself.
    ///
    /// - Returns: false if the person did not.
    func unlock(_ paths: [String]) throws(SourceFailure) -> Bool
    /// The paths of a collection's items.
    func items(in collection: String) throws(SourceFailure) -> [String]
    func item(_ path: String) throws(SourceFailure) -> SourceItem
    func secret(of path: String) throws(SourceFailure) -> OpenedSecret
}

struct SourceCollection: Equatable, Sendable {
    let path: String
    let label: String
    let isLocked: Bool
    /// Whether programs that name no collection get this one.
    let isDefault: Bool

    /// The last part of its path, which such keyrings make of its name.
    var pathName: String { path.split(separator: "/").last.map(String.init) ?? path }
    /// Whether it lies in memory alone.
    var isSession: Bool { pathName == "session" }
    /// For people.
    var name: String { label.isEmpty ? pathName : label }
}

struct SourceItem: Equatable, Sendable {
    let path: String
    var label: String
    var attributes: [String: String]
    /// In seconds since 1970; 0 where the keyring does not say it.
    var created: UInt64
    var modified: UInt64
    var isLocked: Bool
}

/// The attribute that tells what kind of item it is. gnome-keyring gives it to items that were stored without one, some time after that.
enum SourceSchema {
    static let attribute = "xdg:schema"
    private static let added = "org.freedesktop.Secret.Generic"

    /// The attributes without a schema that may have been added so.
    static func removed(from attributes: [String: String]) -> [String: String] {
        attributes.filter { !$0.key.isSame(as: attribute) || !$0.value.isSame(as: added) }
    }
}

/// Why another keyring did not do something. The words hold no secret.
enum SourceFailure: Error, Equatable {
    /// It has ended, or does not answer: nothing more can be read.
    case lost(String)
    /// It did not do this for one object.
    case refused(String)
}

extension String {
    /// By the bytes: Swift's texts are equal when people see the same.
    func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
