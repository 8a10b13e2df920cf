import AccessControl
import Authenticators
import Callers
import Enclave
import ExactNames
import Foundation
import Owners
import Prompting
import Testing
import UnixSocket
import Vault

@testable import Broker
@testable import BrokerTestSupport

/// To whom a store belongs.
@Suite("The owner of a store")
struct OwnerTests {
    private let fixture: BrokerFixture
    private let present: SystemUser

    init() throws {
        fixture = try BrokerFixture()
        present = try SystemUser.current()
    }

    @Test func `services and helpers are told a name for another user than the process's own alone`() {
        #expect(present.nameToOthers == nil && present.idToOthers == nil)
        let other = SystemUser(id: present.id + 1, name: present.name)
        #expect(other.nameToOthers == present.name && other.idToOthers == present.id + 1)
    }

    private func owner(_ user: SystemUser, adopting name: String? = nil) throws -> VaultID {
        try StoredOwner.find(
            user, adopting: name, in: fixture.broker.vault, enclave: fixture.broker.enclave, serves: .only(user)
        ).id
    }

    private func complaint(_ user: SystemUser, adopting name: String? = nil) throws -> String? {
        do {
            _ = try owner(user, adopting: name)
            return nil
        } catch let error as OwnerOpeningError { return error.description }
    }

    private var users: [UserRecord] {
        get throws { try fixture.broker.vault.read { try $0.users() }.compactMap(\.record) }
    }

    @Test func `is whom both name and number fit`() throws {
        #expect(try owner(present) == fixture.account.id)
        #expect(try owner(present, adopting: "somebody") == fixture.account.id)
    }

    @Test func `is the one whose programs are counted, with their requests and questions`() throws {
        let connection = try UnixSocket.connect(to: fixture.socketPath)
        let caller = try fixture.asking(on: connection).caller
        let counted = ProgramOfOwner(owner: fixture.account.id.ownerID, program: caller.program.displayName)
        let asker = try caller.promptCaller(terminal: nil).asker
        #expect(caller.program.ofOwner == counted)
        #expect(asker == counted)
    }

    @Test func `is not replaced by a user of the same number or name, nor by another one`() throws {
        let before = try users
        for other in [
            SystemUser(id: present.id, name: "renamed"), SystemUser(id: present.id + 1, name: present.name),
            SystemUser(id: present.id + 1, name: "stranger"),
        ] {
            #expect(
                try complaint(other)
                    == "The store belongs to \(present.name) (user \(present.id)), but the daemon runs as "
                    + "\(other.name) (user \(other.id)). If they are the same person, start ostiaryd once with "
                    + "--adopt-user-name \(present.name). If not, use another state folder. Nothing was changed.")
        }
        #expect(try users == before)
    }

    @Test func `is renamed when the former name is given, and keeps everything`() throws {
        let renamed = SystemUser(id: present.id, name: "renamed")
        #expect(
            try complaint(renamed, adopting: "nobody-here")
                == "renamed (user \(present.id)) cannot take over the store of nobody-here, because it belongs to "
                + "\(present.name) (user \(present.id)). Nothing was changed; check the name after --adopt-user-name.")
        #expect(try owner(renamed, adopting: present.name) == fixture.account.id)
        #expect(try users.map(\.name) == ["renamed"])
        #expect(try owner(renamed) == fixture.account.id)
        #expect(try complaint(present) != nil)
    }

    @Test func `has a name that the system knows`() throws {
        let unnamed: UInt32 = 4_000_000_123
        #expect(throws: OwnerOpeningError.unnamedUser(unnamed)) { try SystemUser(id: unnamed) }
    }
}
