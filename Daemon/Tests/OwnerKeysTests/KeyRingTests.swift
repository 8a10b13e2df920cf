import AccessControl
import KeySlots
import OwnerKeys
import Testing

@Suite("The key ring of an account")
struct KeyRingTests {
    private let passcode: PrivateHalf
    private let unlocked: PrivateHalf
    private let ring: KeyRing

    init() throws {
        passcode = try PrivateHalf(generating: .passcode, epoch: 1)
        unlocked = try PrivateHalf(generating: .classKey(.whenUnlocked), epoch: 1)
        ring = KeyRing(publicHalves: [passcode.publicHalf, unlocked.publicHalf], privateHalves: [unlocked])
    }

    private var roles: [KeyRole] { ring.privateHalves.map(\.role) }

    @Test func `keeps again after a lock what a passcode opens`() {
        let before = ring.era
        ring.lock()
        ring.add([unlocked], since: before)
        #expect(roles.isEmpty, "it was proved before the lock")
        ring.add([unlocked], since: ring.era)
        #expect(roles == [.classKey(.whenUnlocked)])
    }

    @Test func `keeps nothing after its end, also of a request that was running`() {
        ring.wipe()
        #expect(roles.isEmpty)
        ring.add([unlocked], since: ring.era)
        #expect(roles.isEmpty)
        ring.replace(
            publicHalves: [passcode.publicHalf, unlocked.publicHalf], privateHalves: [unlocked], since: ring.era)
        #expect(roles.isEmpty)
        #expect(ring.unlockState(of: .whenUnlocked) == .needsPasscode)
    }
}
