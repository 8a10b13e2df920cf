import SecretProgramSupport
import Testing

@testable import SecretService

/// What programs send beside what the service reads. sd-bus looks at each element of an array that is passed over, on the thread on which
/// all calls come.
@Suite(.timeLimit(.minutes(10))) struct SkippedValuesTests {
    private static let tooMuch = "org.freedesktop.DBus.Error.LimitsExceeded"
    private let served: ServedSecrets
    private let program: SecretProgram

    init() throws {
        served = try ServedSecrets()
        program = try served.program()
    }

    private func refusal(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch BusProgramError.answered(let name) { return name } catch { return "\(error)" }
    }

    /// The input of the algorithm `plain` is not used.
    private func openSession(_ input: BusDatum) throws -> String {
        try program.call(SecretProgram.root, "Service", "OpenSession", [.text("plain"), .variant(input)])[1].text ?? ""
    }

    enum Much: CaseIterable {
        case numbers, variants, entries, bytes

        var value: BusDatum {
            switch self {
            case .numbers: .array(of: "u", Array(repeating: .small(7), count: 131_072))
            case .variants: .array(of: "v", Array(repeating: .variant(.flag(true)), count: 65_536))
            case .entries: .array(of: "{sv}", Array(repeating: .entry(.text(""), .variant(.text(""))), count: 40_000))
            case .bytes: .structure([.small(7), .bytes(Array(repeating: 7, count: 1 << 20))])
            }
        }
    }

    @Test(arguments: Much.allCases)
    func `more of it than can be read is refused, and the next call served`(much: Much) throws {
        #expect(refusal { _ = try openSession(much.value) } == Self.tooMuch)
        #expect(try openSession(.text("")).hasPrefix(SecretProgram.root + "/session/"))
    }

    @Test func `other values than those are passed over, whatever they hold`() throws {
        let session = try program.openSession()
        let other = BusDatum.structure([
            .bytes(Array(repeating: 7, count: 300_000)), .array(of: "u", []), .path("/"), .flag(true),
            .array(of: "{sv}", [.entry(.text("x"), .variant(.variant(.number(7))))]), .variant(.structure([.text("")])),
        ])
        let properties = BusDatum.array(
            of: "{sv}",
            [
                .entry(.text("org.example.Other"), .variant(other)),
                .entry(.text("org.freedesktop.Secret.Item.Label"), .variant(.text("Mail"))),
            ])
        let parcel = SecretProgram.parcel("a secret", session: session)
        let made = try program.call(
            SecretProgram.login, "Collection", "CreateItem", [properties, parcel, .flag(false)])
        let item = made[0].text ?? ""
        #expect(try program.property(item, "Item", "Label") == .text("Mail"))
        #expect(try program.secret(item, session: session) == "a secret")
    }
}
