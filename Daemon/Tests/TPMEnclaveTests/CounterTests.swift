import Enclave
import Foundation
import SecretMemory
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// The counter of a store on the real chip.
@Suite(.timeLimit(.minutes(10))) struct CounterTests {
    private let tpm: SoftwareTPM
    private let enclave: TPMEnclave
    private let store = Data(repeating: 3, count: 16)

    init() throws {
        tpm = try SoftwareTPM()
        enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
    }

    private func make() throws -> (counter: Data, value: UInt64) {
        try enclave.makeCounter(Material.secret(1), of: store)
    }

    private func read(_ counter: Data, _ value: UInt8 = 1) throws -> CounterReading {
        try enclave.read(counter, authorization: Material.secret(value))
    }

    private func advance(_ counter: Data, to number: UInt64) throws -> CounterReading {
        try enclave.advance(counter, to: number, authorization: Material.secret(1))
    }

    private func handle(of counter: Data) throws -> String {
        "0x" + String(try CounterIndex(blob: counter).handle, radix: 16)
    }

    @Test func `it moves by one, to a number that may be asked for twice, and nowhere else`() throws {
        let (counter, start) = try make()
        #expect(try read(counter) == .value(start))
        #expect(try advance(counter, to: start) == .value(start))
        for _ in 1...2 { #expect(try advance(counter, to: start + 1) == .value(start + 1)) }
        #expect(try advance(counter, to: start + 3) == .value(start + 1))
        #expect(try advance(counter, to: start) == .value(start + 1))
        #expect(try read(counter) == .value(start + 1))
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `an answer of another size, or with a number that no chip reaches, is malformed`() throws {
        let largest = Data([0x7f] + Array(repeating: 0xff, count: 7))
        #expect(try CounterIndex.number(largest) == UInt64.max / 2)
        for answer in [
            Data(), Data(count: 7), Data(count: 9), Data(repeating: 0xff, count: 8), Data([0x80] + Data(count: 7)),
        ] {
            #expect(throws: ChipFault.malformedAnswer) { try CounterIndex.number(answer) }
        }
    }

    @Test func `a removed one is missing, and removing it takes nothing else`() throws {
        let (counter, start) = try make()
        let other = try enclave.makeCounter(Material.secret(1), of: Data(repeating: 4, count: 16))
        for _ in 1...2 { try enclave.removeCounter(counter) }
        #expect(try read(counter) == .missing)
        #expect(try read(other.counter) == .value(other.value))
        try tpm.tool(
            "tpm2_nvdefine", handle(of: counter), "-C", "o", "-s", "8", "-a", "ownerread|ownerwrite|authread|authwrite")
        try enclave.removeCounter(counter)
        #expect(try read(counter) == .replaced)
        #expect(try make().value > start)
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `the counter of a store is found with its value alone, wherever it lies`() throws {
        func has(_ value: UInt8 = 1) throws -> Bool {
            try enclave.hasCounter(of: store, authorization: Material.secret(value))
        }
        #expect(try !has())
        let first = try #require(CounterIndex.handles(of: store).first)
        try tpm.tool(
            "tpm2_nvdefine", "0x" + String(first, radix: 16), "-C", "o", "-s", "8", "-a",
            "ownerread|ownerwrite|authread|authwrite")
        let (counter, _) = try make()
        #expect(try has() && !has(2))
        try tpm.tool("tpm2_nvundefine", "-C", "o", "0x" + String(first, radix: 16))
        #expect(try has())
        try enclave.removeCounter(counter)
        #expect(try !has())
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `it keeps its number over restarts of the chip`() throws {
        let (counter, start) = try make()
        _ = try advance(counter, to: start + 1)
        try tpm.restart()
        #expect(try read(counter) == .value(start + 1))
        try tpm.restart()
        #expect(try advance(counter, to: start + 2) == .value(start + 2))
    }

    @Test func `one that is made in its place begins above all numbers of before`() throws {
        let (counter, start) = try make()
        for step in 1...5 { _ = try advance(counter, to: start + UInt64(step)) }
        try tpm.tool("tpm2_nvundefine", "-C", "o", handle(of: counter))
        #expect(try read(counter) == .missing)
        #expect(try advance(counter, to: start + 6) == .missing)
        #expect(try make().value > start + 5)
        #expect(try make().value > start + 6)
        #expect(try tpm.tool("tpm2_getcap", "handles-nv-index").split(separator: "\n").count == 1)
    }

    @Test func `without its value it is another counter, and nothing counts towards the chip's lockout`() throws {
        let (counter, start) = try make()
        for _ in 1...40 { #expect(try read(counter, 2) == .replaced) }
        #expect(try enclave.advance(counter, to: start + 1, authorization: Material.secret(2)) == .replaced)
        #expect(try enclave.lockout(for: nil).failureCount == 0)
        #expect(try read(counter) == .value(start))
    }

    @Test func `a counter that was never moved, and an index of another sort, are another counter`() throws {
        let (counter, _) = try make()
        let handle = try handle(of: counter)
        let value = "hex:" + String(repeating: "01", count: 32)
        for attributes in ["nt=counter|no_da|authread|authwrite", "no_da|authread|authwrite"] {
            try tpm.tool("tpm2_nvundefine", "-C", "o", handle)
            try tpm.tool("tpm2_nvdefine", handle, "-C", "o", "-s", "8", "-a", attributes, "-p", value)
            #expect(try read(counter) == .replaced)
        }
    }

    @Test func `an index of another program at its handle is left alone`() throws {
        let (counter, _) = try make()
        let handle = try handle(of: counter)
        try tpm.tool("tpm2_nvundefine", "-C", "o", handle)
        try tpm.tool("tpm2_nvdefine", handle, "-C", "o", "-s", "8", "-a", "ownerread|ownerwrite")
        let beside = try make().counter
        #expect(try CounterIndex(blob: beside).handle == CounterIndex(blob: counter).handle + 1)
        #expect(try tpm.tool("tpm2_nvreadpublic", handle).contains("ownerwrite"))
    }

    /// The line of the Debian package's README that lists the objects that a purge leaves in the chip.
    private static func listing() throws -> String {
        let readme = URL(fileURLWithPath: #filePath)
            .appendingPathComponent("../../../../packaging/debian/ostiary.README.Debian").standardized
        let lines = try String(contentsOf: readme, encoding: .utf8).split(separator: "\n")
        let line = try #require(lines.first { $0.contains("tpm2_nvreadpublic") })
        return line.replacingOccurrences(of: "sudo ", with: "")
    }

    @Test func `the package's README tells how to find it and the passcode's index, and no other program's`() throws {
        let owner = Data(repeating: 5, count: 16)
        let passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        let index = "0x" + String(try ChipPasscode(blob: passcode).index.handle, radix: 16)
        let counter = try handle(of: make().counter)
        try tpm.tool("tpm2_nvdefine", "0x1800345", "-C", "o", "-s", "8", "-a", "authread|authwrite|no_da")
        let listed = try tpm.tool("bash", "-c", Self.listing()).split(separator: "\n").map(String.init)
        #expect(listed.sorted() == [index, counter].sorted())
    }

    @Test func `a chip without room says so and keeps nothing`() throws {
        var number = 0x0190_0000
        while (try? tpm.tool("tpm2_nvdefine", "0x" + String(number, radix: 16), "-C", "o", "-s", "512")) != nil {
            number += 1
        }
        // The chip keeps room for counters aside.
        for attributes in ["ownerread|ownerwrite", "nt=counter|ownerread|ownerwrite"] {
            while (try? tpm.tool(
                "tpm2_nvdefine", "0x" + String(number, radix: 16), "-C", "o", "-s", "8", "-a", attributes)) != nil
            { number += 1 }
        }
        // TPM_RC_NV_SPACE
        expect(.unavailable(code: 0x14b)) { _ = try make() }
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test(arguments: 0..<7) func `no truncation of its blob is one, nor one with more behind it`(count: Int) throws {
        let (counter, _) = try make()
        #expect(counter.count == 7)
        expect(.unreadable) { _ = try read(counter.prefix(count)) }
        expect(.unreadable) { _ = try read(counter + Data(count: count + 1)) }
    }

    @Test func `a step costs two commands, and the traffic does not have its value`() throws {
        try tpm.keepStorageKey()
        let value = Data((0..<32).map { _ in UInt8.random(in: 1...255) })
        var commands: [[RecordedCommand]] = []
        let traffic = try tpm.recorded("counter.pcap") { location in
            let enclave = try TPMEnclave(at: location, storageKey: nil)
            let (counter, start) = try enclave.makeCounter(SecretBytes(value), of: store)
            for step in 1...2 {
                commands.append(
                    try tpm.commands("counter.pcap") {
                        _ = try enclave.advance(
                            counter, to: start + UInt64(step), authorization: SecretBytes(value))
                    })
            }
        }
        #expect(commands == [[.readIndex, .read, .increment], [.read, .increment]])
        for start in stride(from: 0, to: 32, by: 8) {
            #expect(traffic.range(of: value.dropFirst(start).prefix(8)) == nil)
        }
    }
}
