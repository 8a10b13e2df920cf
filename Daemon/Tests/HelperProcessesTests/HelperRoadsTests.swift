import Foundation
import TerminalTestSupport
import Testing
import UnixSocket

@testable import HelperProcesses

/// Which program or socket each helper has, and under which account it runs.
@Suite("The roads to the helpers", .timeLimit(.minutes(10)))
struct HelperRoadsTests {
    private static let accounts =
        [
            "ostiary": 900, "ostiary-identity": 901, "ostiary-display": 902, "ostiary-prompt": 903, "ostiary-fido": 904,
            "ostiary-association": 905, "ostiary-pam": 906, "ostiary-vt": 907, "ostiary-sheet": 908,
        ] as [String: UInt32]

    private func resolve(
        _ change: (inout [String: UInt32]) -> Void = { _ in }
    ) throws(MissingAccount) -> MachineAccounts {
        var accounts = Self.accounts
        change(&accounts)
        return try MachineAccounts { [accounts] (name) throws(MissingAccount) in
            guard let number = accounts[name] else { throw .absent(name) }
            return number
        }
    }

    private func refusal(_ change: (inout [String: UInt32]) -> Void) -> MissingAccount? {
        do throws(MissingAccount) { _ = try resolve(change) } catch { return error }
        return nil
    }

    // MARK: one user's daemon

    @Test func `the daemon of one user starts the programs that lie beside it`() {
        let roads = DaemonMode.user.helpers(beside: "/opt/ostiary/bin/ostiaryd")
        func program(_ name: String) -> HelperRoad { .spawned(program: "/opt/ostiary/bin/" + name) }
        #expect(roads == .beside(program: "/opt/ostiary/bin/ostiaryd"))
        #expect(roads.prompt == program("ostiary-prompt") && roads.sheet == program("ostiary-sheet"))
        #expect(roads.securityKey == program("ostiary-fido") && roads.association == program("ostiary-association"))
        #expect(roads.face == program("ostiary-pam"))
        #expect(roads.templates == HelperSocketAddress(path: "/run/ostiary-templates.socket", managerUserID: 0))
        #expect(roads.trustedPlace == nil && roads.identity == nil && roads.display == nil)
    }

    @Test func `a spawned helper has its program as its one argument, and no environment but the given one`() throws {
        let stage = try Stage(.spawned)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        let process = try helper.process()
        func text(_ name: String) throws -> String {
            try String(contentsOfFile: "/proc/\(process)/\(name)", encoding: .utf8)
        }
        #expect(try text("cmdline") == Build.program("test-helper") + "\0")
        #expect(
            try text("environ") == "SWIFT_BACKTRACE=enable=no\0LC_ALL=C.UTF-8\0PATH=/usr/bin:/bin\0")
        helper.expectEnd()
    }

    // MARK: the machine's daemon

    @Test func `the daemon of the machine starts nothing, and expects each helper under its account`() throws {
        let roads = DaemonMode.system(try resolve()).helpers(beside: "/usr/libexec/ostiaryd")
        func socket(_ name: String, _ userID: UInt32) -> HelperSocket {
            HelperSocket(path: "/run/ostiary/helpers/\(name).socket", helperUserID: userID, managerUserID: 0)
        }
        #expect(roads.prompt == .activated(socket("prompt", 903)))
        #expect(roads.sheet == .activated(socket("sheet", 908)))
        #expect(roads.trustedPlace == .activated(socket("vt", 907)))
        #expect(roads.securityKey == .activated(socket("fido", 904)))
        #expect(roads.association == .activated(socket("association", 905)))
        #expect(roads.face == .activated(socket("pam", 906)))
        #expect(roads.identity == socket("identity", 901) && roads.display == socket("display", 902))
        #expect(
            roads.templates
                == HelperSocketAddress(
                    path: "/run/ostiary/helpers/templates.socket", managerUserID: 0, unit: "ostiary-templates-daemon"))
    }

    @Test func `each socket of a helper is one at which a unit listens`() throws {
        let roads = HelperRoads.activated(try resolve())
        func path(_ road: HelperRoad?) throws -> String {
            guard case .activated(let socket)? = road else { throw Unexpected() }
            return socket.path
        }
        let activated: [HelperRoad?] = [
            roads.prompt, roads.sheet, roads.trustedPlace, roads.securityKey, roads.association, roads.face,
        ]
        let sockets = [try #require(roads.identity), try #require(roads.display)]
        let paths = try activated.map(path) + sockets.map(\.path) + [roads.templates.path]
        let folder = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../packaging/system/units")
            .standardizedFileURL
        let units = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "socket" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
        // Words name these two.
        for templates in [roads.templates, HelperRoads.beside(program: "/usr/libexec/ostiaryd").templates] {
            let file = folder.appendingPathComponent(templates.unit + ".socket")
            let unit = try String(contentsOf: file, encoding: .utf8)
            #expect(unit.contains("ListenStream=\(templates.path)\n"), "\(templates.unit)")
        }
        for path in paths {
            let lines = ["ListenSequentialPacket=\(path)", "ListenStream=\(path)"]
            #expect(units.contains { unit in lines.contains { unit.contains($0 + "\n") } }, "\(path)")
        }
    }

    private struct Unexpected: Error {}

    @Test func `the sockets lie in the given folder`() throws {
        let roads = DaemonMode.system(try resolve()).helpers(beside: "/usr/libexec/ostiaryd", sockets: "/tmp/helpers")
        #expect(roads.identity == HelperSocket(path: "/tmp/helpers/identity.socket", helperUserID: 901))
        #expect(roads.templates.path == "/tmp/helpers/templates.socket")
    }

    @Test func `the accounts of the helpers are all but the daemon's own`() throws {
        #expect(try resolve().helpers == [901, 902, 903, 904, 905, 906, 907, 908])
    }

    @Test(arguments: accounts.keys.sorted()) func `an account that is missing is named`(name: String) {
        #expect(refusal { $0[name] = nil } == .absent(name))
        #expect("\(MissingAccount.absent(name))" == "there is no account \(name): run `systemd-sysusers`")
    }

    @Test(arguments: accounts.keys.sorted()) func `no account of the daemon may be root's`(name: String) {
        #expect(refusal { $0[name] = 0 } == .shared(name, with: "root"))
    }

    @Test func `two accounts with one number are refused`() {
        #expect(refusal { $0["ostiary-fido"] = 900 } == .shared("ostiary-fido", with: "ostiary"))
        #expect(refusal { $0["ostiary-pam"] = 903 } == .shared("ostiary-pam", with: "ostiary-prompt"))
        #expect(refusal { $0["ostiary-sheet"] = 903 } == .shared("ostiary-sheet", with: "ostiary-prompt"))
        #expect(refusal { $0["ostiary-vt"] = 903 } == .shared("ostiary-vt", with: "ostiary-prompt"))
    }

    @Test func `the password database is asked, and says that there is no such account`() throws {
        #expect(try MachineAccounts.userID(ofAccount: "root") == 0)
        #expect(throws: MissingAccount.absent("ostiary-nobody-of-this-name")) {
            try MachineAccounts.userID(ofAccount: "ostiary-nobody-of-this-name")
        }
    }
}
