import DoorSupport
import Foundation
import Testing
import UnixSocket

@testable import UnitCredentials

/// The name that a service manager binds its socket to is the only thing that says who asks.
@Suite("Names of units", .timeLimit(.minutes(10)))
struct UnitRequestTests {
    private func request(_ text: String) throws -> UnitRequest { try UnitRequest(address: [0] + Array(text.utf8)) }

    @Test func `systemd's own example is read`() throws {
        let request = try request("adf9d86b6eda275e/unit/foobar.service/credx")
        #expect(request.unit == "foobar.service" && request.credential == "credx")
    }

    @Test(arguments: [
        "backup@home.service", #"a\x2db.service"#, "app-foo@1.scope", "var-lib.mount", "dev.swap", "x.socket",
    ])
    func `units of every type that loads credentials are known`(unit: String) throws {
        #expect(try request("1/unit/\(unit)/key").unit == unit)
    }

    @Test(
        arguments: [
            "", "/", "1/unit/a.service", "1/unit/a.service/", "1/unit//key", "/unit/a.service/key",
            "1/unit/a.service/key/",
            "1/unit/a.service/b/key", "1/unit/a.service/../key", "1/unit/../b.service", "1//unit/a.service/key",
            "1/Unit/a.service/key", "1/job/a.service/key", "-/unit/a.service/key", "1 /unit/a.service/key",
            "é/unit/a.service/key",
            "1/unit/a/key", "1/unit/.service/key", "1/unit/a.timer/key", "1/unit/a.SERVICE/key",
            "1/unit/a.service /key",
            "1/unit/a b.service/key", "1/unit/ä.service/key", "1/unit/a.service/.", "1/unit/a.service/..",
            "1/unit/a.service/ke y", "1/unit/a.service/k:y", "1/unit/a.service/kéy", "1/unit/a.service/key\n",
            "1/unit/a.service\u{0}/key", "1/unit/a.service/key\u{0}", "1/unit/a.service\u{301}/key",
        ]) func `any other name is refused`(text: String)
    {
        #expect(throws: DoorFailure.unitUnknown) { try self.request(text) }
    }

    @Test func `a name in the file system, and none, are refused`() {
        #expect(throws: DoorFailure.unitUnknown) { try UnitRequest(address: []) }
        #expect(throws: DoorFailure.unitUnknown) { try UnitRequest(address: Array("1/unit/a.service/key".utf8)) }
        #expect(throws: DoorFailure.unitUnknown) {
            try UnitRequest(address: [0, 0] + Array("1/unit/a.service/key".utf8))
        }
    }

    @Test func `each truncation is refused or asks for less of the credential's name`() throws {
        let whole = [0] + Array("1/unit/a.service/key".utf8)
        for count in 0..<whole.count {
            let part = Array(whole[..<count])
            if part.count > "1/unit/a.service/".utf8.count + 1 {
                #expect(try "key".hasPrefix(UnitRequest(address: part).credential))
            } else {
                #expect(throws: DoorFailure.unitUnknown) { try UnitRequest(address: part) }
            }
        }
    }

    @Test func `names are as long as an address at most`() throws {
        let begin = "1/unit/a.service/"
        let rest = 107 - begin.utf8.count
        #expect(try request(begin + String(repeating: "k", count: rest)).credential.utf8.count == rest)
        #expect(throws: DoorFailure.unitUnknown) { try self.request(begin + String(repeating: "k", count: rest + 1)) }
        #expect(throws: DoorFailure.unitUnknown) {
            try self.request(String(repeating: "1", count: 65) + "/unit/a.service/key")
        }
    }

    @Test func `the label of a long name fits into what the daemon takes`() throws {
        let request = try request("1/unit/" + String(repeating: "u", count: 60) + ".service/key")
        #expect(request.label.utf8.count == 64 && request.label.hasPrefix("uuu"))
    }

    // MARK: control groups

    private func unit(_ lines: String...) -> String? { ProcessUnit.name(in: Array(lines.joined(separator: "\n").utf8)) }

    @Test func `the innermost unit of a process is its own`() {
        #expect(
            unit("0::/user.slice/user-1000.slice/user@1000.service/app.slice/backup.service", "") == "backup.service")
        #expect(unit("0::/system.slice/backup.service/.control") == "backup.service")
        #expect(unit("0::/user.slice/user-1000.slice/session-3.scope") == "session-3.scope")
        #expect(unit("1:name=systemd:/a.service", "0::/") == "a.service")
        #expect(unit("0::/b.service", "1:name=systemd:/a.service") == "a.service")
        #expect(unit("0::/system.slice/_cpu.service") == "cpu.service")
    }

    @Test func `a process without a unit has none`() {
        #expect(unit("0::/") == nil && unit("") == nil && unit("0::/user.slice") == nil)
        #expect(unit("4:memory:/a.service", "0::/") == nil, "other hierarchies say nothing of units")
        #expect(unit("0:/a.service") == nil && unit("nonsense") == nil)
    }

    @Test func `a process that has ended is refused`() {
        #expect(throws: DoorFailure.self) { try CredentialServer.unit(of: -1) }
        #expect(throws: Never.self) { try CredentialServer.unit(of: getpid()) }
    }
}
