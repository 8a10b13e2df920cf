import OstiaryClient
import Testing

@testable import SecretItems

/// A lock moves what was locked to a context of its own, and ends nothing else.
@Suite struct ClientProofsTests {
    private let common = AuthorizationContext()

    private func separate(_ scope: ProofScope, in proofs: inout ClientProofs) -> [AuthorizationContext] {
        proofs.separate(scope, beside: common)
    }

    /// The context that something has for itself.
    private func context(_ scope: ProofScope?, in proofs: inout ClientProofs) -> AuthorizationContext? {
        proofs.context(for: scope) { AuthorizationContext() }
    }

    private func isEqual(_ one: AuthorizationContext?, _ other: AuthorizationContext?) -> Bool { one === other }

    @Test func `an item that was locked has a context of its own, and its neighbours the common one`() throws {
        var proofs = ClientProofs()
        let (item, neighbour) = (ProofScope.item(.random(), in: "login"), ProofScope.item(.random(), in: "login"))
        let begun = separate(item, in: &proofs)
        let first = try #require(context(item, in: &proofs))
        let others = [context(neighbour, in: &proofs), context(nil, in: &proofs)]
        #expect(begun.isEmpty && others.allSatisfy { isEqual($0, nil) })
        #expect(isEqual(context(item, in: &proofs), first))
        let ended = separate(item, in: &proofs)
        let second = context(item, in: &proofs)
        #expect(ended.count == 1 && ended.first === first)
        #expect(!isEqual(second, first), "a second lock ends what was proved since the first")
    }

    @Test func `a lock of a collection moves its items, and no others`() throws {
        var proofs = ClientProofs()
        let (item, apart) = (ProofScope.item(.random(), in: "work"), ProofScope.item(.random(), in: "work"))
        _ = separate(apart, in: &proofs)
        let own = try #require(context(apart, in: &proofs))
        let ended = separate(.collection("work"), in: &proofs)
        #expect(ended.count == 1 && ended.first === own, "the common context stays")
        let next = try #require(context(item, in: &proofs))
        let (whole, again) = (context(.collection("work"), in: &proofs), context(apart, in: &proofs))
        #expect(isEqual(whole, next))
        #expect(!isEqual(again, next) && !isEqual(again, nil), "what its neighbour proves does not open it")
        #expect(isEqual(context(.item(.random(), in: "login"), in: &proofs), nil))
    }

    @Test func `locks of other collections, however many, end nothing of this one`() throws {
        var proofs = ClientProofs()
        _ = separate(.collection("work"), in: &proofs)
        let own = try #require(context(.collection("work"), in: &proofs))
        for number in 0..<1_000 {
            let ended = separate(.collection("\(number)"), in: &proofs)
            _ = context(.collection("\(number)"), in: &proofs)
            let left = proofs.leave(collection: "\(number)")
            #expect(ended.isEmpty && left.count == 1)
        }
        #expect(isEqual(context(.collection("work"), in: &proofs), own))
    }

    @Test func `more collections than there can be end everything`() throws {
        var proofs = ClientProofs()
        for number in 0..<ClientProofs.collectionLimit {
            let ended = separate(.collection("\(number)"), in: &proofs)
            #expect(ended.isEmpty)
        }
        let first = try #require(context(.collection("0"), in: &proofs))
        let ended = separate(.collection("one more"), in: &proofs)
        #expect(ended.contains { $0 === first } && ended.contains { $0 === common } && ended.count == 2)
    }

    @Test func `with more items than are kept apart only their collection is asked for again`() throws {
        var proofs = ClientProofs()
        _ = separate(.collection("work"), in: &proofs)
        let work = try #require(context(.collection("work"), in: &proofs))
        let items = (0..<ClientProofs.itemLimit).map { _ in ProofScope.item(.random(), in: "own") }
        for item in items {
            let ended = separate(item, in: &proofs)
            #expect(ended.isEmpty)
        }
        let first = try #require(context(items[0], in: &proofs))
        let last = ProofScope.item(.random(), in: "own")
        for _ in 0..<2 {
            let former = context(.collection("own"), in: &proofs)
            let ended = separate(last, in: &proofs)
            #expect(ended.count == (former == nil ? 0 : 1) && ended.allSatisfy { $0 === former })
            let (own, whole) = (context(last, in: &proofs), context(.collection("own"), in: &proofs))
            #expect(isEqual(own, whole) && !isEqual(own, nil))
        }
        #expect(isEqual(context(items[0], in: &proofs), first))
        #expect(isEqual(context(.collection("work"), in: &proofs), work))
    }

    @Test func `a context in which a question stands ends after it`() throws {
        var proofs = ClientProofs()
        let item = ProofScope.item(.random(), in: "login")
        _ = separate(item, in: &proofs)
        let asked = begin(item, in: &proofs)
        let same = begin(item, in: &proofs)
        #expect(asked === same && !proofs.isPresent)
        for _ in 0..<3 {
            let ended = separate(item, in: &proofs)
            #expect(!ended.contains { $0 === asked })
        }
        #expect(!isEqual(context(item, in: &proofs), asked), "what is proved there counts no more")
        let isOver = (proofs.endQuestion(in: asked), proofs.endQuestion(in: asked))
        #expect(isOver == (false, true))
        // Nothing was locked meanwhile.
        let next = begin(item, in: &proofs)
        let isNextOver = proofs.endQuestion(in: next)
        #expect(!isNextOver)
    }

    private func begin(_ scope: ProofScope?, in proofs: inout ClientProofs) -> AuthorizationContext {
        proofs.beginQuestion(for: scope, beside: common) { AuthorizationContext() }
    }

    @Test func `all end at once when the client goes, those with a question after it`() {
        var proofs = ClientProofs()
        _ = separate(.collection("work"), in: &proofs)
        _ = context(.collection("work"), in: &proofs)
        let asked = begin(nil, in: &proofs)
        #expect(asked === common && proofs.isPresent)
        let ended = proofs.endAll(beside: common)
        #expect(ended.count == 1 && !ended.contains { $0 === common })
        #expect(isEqual(context(.collection("work"), in: &proofs), nil))
        let isOver = proofs.endQuestion(in: asked)
        #expect(isOver)
    }
}
