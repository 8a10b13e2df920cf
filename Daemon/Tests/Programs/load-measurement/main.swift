// Measures how long another program's requests take while one program asks for much, in a store with many items and rights.
//
//   load-measurement serve FOLDER RIGHTS ITEMS            makes the store, serves it, and prints where; ends with its input
//   load-measurement press SOCKET CONNECTIONS SECONDS WHAT   asks for WHAT (lists, all-lists, diagnoses, status, items, deletes, prune) on
//                                                         so many connections; for items it makes 3,000 guarded ones of its
//                                                         own first; for deletes it makes 1,000 a time and deletes them at once
//   load-measurement find SOCKET SECONDS                  finds one right of its own again and again, and prints the times
//
// `press` and `find` must run from copies with other names: the daemon tells programs apart by their paths.

import AccessControl
import BrokerTestSupport
import Enclave
import ExactNames
import Foundation
import OstiaryMessages
import OwnerKeys
import Owners
import StoreTestSupport
import Vault

@testable import Broker
@testable import ProtectedObjects

let arguments = CommandLine.arguments.dropFirst().map { $0 }

func seconds(_ body: () throws -> Void) rethrows -> Double {
    let begin = ContinuousClock.now
    try body()
    return (ContinuousClock.now - begin) / .seconds(1)
}

func memoryKilobytes() -> String {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    return status.split(separator: "\n").first { $0.hasPrefix("VmRSS") }.map(String.init) ?? ""
}

/// Items of this program under a rule that only the passcode satisfies.
func makeGuardedItems(_ count: Int, _ client: TestClient) throws {
    let guarded = try AccessControl.item(Requirement(anyOf: [.passcode]), .always)
    for number in 0..<count { try client.addItem(["acct": .text("\(number)")], accessControl: guarded) }
}

switch arguments.first {
case "serve":
    let (rights, items) = (Int(arguments[2])!, UInt64(arguments[3])!)
    let folder = try TestFolder()
    let fixture = try BrokerFixture(in: folder)
    let owner = fixture.account.id
    let client = try fixture.client()
    try client.create("template", AccessControl(availability: .always, using: .unrestricted))
    // Before the items, which open with nothing.
    try fixture.setPasscode()
    let vault = fixture.account.rights.vault
    let template = try vault.read { try $0.objects(owner: owner, kind: .right) }.compactMap(\.record)[0]
    for begin in stride(from: 0, to: rights, by: 2000) {
        try vault.write("rights") { writer in
            for number in begin..<min(begin + 2000, rights) {
                try writer.insertObject(
                    ObjectRecord(
                        owner: owner, kind: .right, suite: template.suite,
                        attributes: ObjectAttributes(
                            group: ExactName(arguments[1]), identifier: "right \(number)",
                            applicationLabel: Data(arguments[1].utf8),
                            created: 1),
                        accessControl: template.accessControl, enclaveKind: template.enclaveKind,
                        publicKey: template.publicKey, keyBlob: template.keyBlob, payload: template.payload,
                        slots: template.slots))
            }
        }
    }
    for begin in stride(from: 0, to: items, by: 5000) {
        try vault.write("items") { writer in
            for number in begin..<min(begin + 5000, items) {
                try writer.insertItem(
                    ItemRecord(
                        owner: owner, itemClass: .genericPassword, suite: 1, attributes: Data(count: 200),
                        accessControl: template.accessControl, wrap: .classKey(Data(count: 80)),
                        payload: Data(count: 60),
                        index: ItemIndex(
                            uniqueness: ItemDigest(prefixOf: VaultID().bytes)!,
                            terms: (0..<10).map { number &* 0x9E37_79B9_7F4A_7C15 &+ $0 })))
            }
        }
    }
    let open = AccessControl(availability: .always, using: .unrestricted)
    try vault.write("keys") { writer in
        for number in 0..<2000 {
            let group = ExactName("\(arguments[1]) \(number / 10)")
            let key = try fixture.account.rights.prepare(
                .key(.p256, in: group, open, shown: Data(), applicationPassword: nil))
            try writer.insertObject(key)
        }
    }
    try fixture.restart()
    print(
        "first look at the items: \(try seconds { _ = try fixture.account.rights.vault.readItems { try $0.itemCount(owner: owner) } }) s"
    )
    print("diagnosis: \(try seconds { _ = try fixture.client().call(.diagnose(.init())) }) s")
    print(fixture.socketPath, memoryKilobytes())
    fflush(nil)
    while let line = readLine() {
        if line == "memory" { print(memoryKilobytes()) }
        fflush(nil)
    }
case "press":
    let (socket, what) = (arguments[1], arguments[4])
    if what == "items" { try makeGuardedItems(3000, TestClient(socketPath: socket)) }
    let end = ContinuousClock.now + .seconds(Double(arguments[3])!)
    let done = concurrently(Int(arguments[2])!) { connection in
        let client = try TestClient(socketPath: socket)
        var count = 0
        while ContinuousClock.now < end {
            switch what {
            case "diagnoses": try client.call(.diagnose(.init()))
            case "status": try client.call(.status(.init()))
            case "prune": try client.call(.pruneKeys(.init()))
            case "deletes":
                for number in 0..<1000 {
                    try client.addItem(["acct": .text("\(number)"), "svce": .text("\(connection)")])
                }
                _ = try client.deleteItems(TestClient.query("genp", ["svce": .text("\(connection)")]))
            case "items":
                guard
                    try refusal({ _ = try client.page(TestClient.query(), use: TestClient.silentUse()) })
                        == .notInteractive
                else { exit(4) }
            default:
                var cursor = Data()
                repeat {
                    let request = WireListRightsRequest.with {
                        ($0.ofAllApplications, $0.cursor) = (what == "all-lists", cursor)
                    }
                    guard case .rights(let page) = try client.call(.listRights(request)).body else { exit(3) }
                    cursor = page.next
                } while !cursor.isEmpty && ContinuousClock.now < end
            }
            count += 1
        }
        return count
    }
    print("\(what): \(try done.reduce(0) { try $0 + $1.get() })")
case "find":
    let client = try TestClient(socketPath: arguments[1])
    if try refusal({ _ = try client.find("mine") }) != nil {
        try client.create("mine", AccessControl(availability: .always, using: .unrestricted))
    }
    let end = ContinuousClock.now + .seconds(Double(arguments[2])!)
    var times: [Double] = []
    while ContinuousClock.now < end {
        times.append(try seconds { _ = try client.find("mine") } * 1000)
        usleep(1000)
    }
    times.sort()
    func at(_ part: Double) -> String { String(format: "%.2f", times[Int(Double(times.count - 1) * part)]) }
    print("find: \(times.count) times, p50 \(at(0.5)) ms, p99 \(at(0.99)) ms, longest \(at(1)) ms")
default: exit(2)
}
