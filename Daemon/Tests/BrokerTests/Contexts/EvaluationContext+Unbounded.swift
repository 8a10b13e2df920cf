import Authenticators
import ExactNames
import Passcodes
import ProtectedObjects
import StoreTestSupport

extension EvaluationContext {
    /// A context of a program that may hold any number of grants.
    convenience init(
        keepsFactors: Bool, clock: any BootClock, lifetime: Duration, ended: @escaping GrantEndHandler = { _ in }
    ) {
        self.init(
            keepsFactors: keepsFactors, clock: clock, lifetime: lifetime,
            quota: ProgramQuota.grants(ShareLimits(ofProgram: .max, total: .max)), program: "a test", ended: ended)
    }
}
