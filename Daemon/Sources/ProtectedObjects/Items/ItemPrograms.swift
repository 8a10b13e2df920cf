import AccessControl
import Callers
import ExactNames
import OstiaryMessages
import Refusals
import UnixSocket
package import Vault

/// The programs that an item is for, by the paths of their files or their application ids: the attribute `only`, with one name on each
/// line. Other programs do not get the item's data, whatever they prove.
///
/// The attribute lies encrypted. So each name has a term among those that find the item, and all items for certain programs have one
/// more in common: these say whom the item is for while its class is closed, before anybody is asked.
struct ItemPrograms: Equatable {
    static let attribute = "only"

    let names: [ExactName]

    /// - Parameter lines: the attribute. Lines end with the byte of a newline alone: as a character it may be part of another one.
    init(lines: String) {
        names = lines.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            ExactName(String(decoding: $0, as: UTF8.self))
        }
    }

    /// Throws unless the daemon can know a caller by each of the names. One that no caller ever has would keep the data from everybody.
    func requireKnowable() throws(Refusal) {
        guard names.count <= ItemRequestLimits.programCount, Set(names).count == names.count else {
            throw Self.refusal("An item is for at most \(ItemRequestLimits.programCount) programs, each named once")
        }
        for name in names { try Self.requireKnowable(name.text) }
    }

    private static func requireKnowable(_ name: String) throws(Refusal) {
        guard name.utf8.count <= ItemRequestLimits.programByteCount,
            PathName.isAbsolute(name) || NameDefect(name) == nil
        else {
            throw refusal("An item is for programs: the absolute path of a file, or an application id, on each line")
        }
        guard !PathName.isAbsolute(name) || !CallerProgram.isInterpreter(name) else {
            throw refusal("A program that runs scripts has no name of its own, and no item can be for it alone")
        }
    }

    private static func refusal(_ what: String) -> Refusal {
        Refusal(.invalidParameter, "\(what).", cause: "item.only")
    }

    fileprivate func include(_ program: LeaseQuery.Program) -> Bool { names.contains(where: program.isCalled) }
}

extension ItemAttributes {
    /// The programs that the item is for; nil where it is for any.
    var programs: ItemPrograms? {
        guard let lines = text(ItemPrograms.attribute), !lines.isEmpty else { return nil }
        return ItemPrograms(lines: lines)
    }

    /// An empty text stands for any program: an update can take the programs away by it. No item keeps it.
    mutating func dropEmptyPrograms() {
        if text(ItemPrograms.attribute)?.isEmpty == true { self[ItemPrograms.attribute] = nil }
    }

    /// Whether the program may have the item's data, by the names themselves.
    package func isFor(_ program: LeaseQuery.Program) -> Bool { programs?.include(program) ?? true }

    /// Throws where an item for certain programs asks for nothing. A program's name alone would then open it, and in user mode other programs
    /// of the user can act under that name.
    func requireRuleForPrograms(_ accessControl: AccessControl) throws(Refusal) {
        guard programs == nil || accessControl[.read] != .unrestricted else {
            throw Refusal(
                .invalidParameter,
                "An item for certain programs needs a rule that asks for something: give it one, or take the programs away.",
                cause: "item.only-needs-rule")
        }
    }
}

extension ItemDigests {
    /// Whether the program may have the item's data, by the terms that find the item. That needs no open class.
    package func isFor(_ program: LeaseQuery.Program, _ itemClass: ItemClass, _ index: ItemIndex) -> Bool {
        guard itemClass.hasFreeAttributes, index.terms.contains(termForPrograms) else { return true }
        return [program.path, program.applicationID].compactMap(\.self)
            .contains { index.terms.contains(term(ofProgram: $0)) }
    }
}
