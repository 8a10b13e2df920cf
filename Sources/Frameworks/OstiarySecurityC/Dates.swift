import Foundation

@c(ostiary_CFDateCreate)
func createDate(_ allocator: Handle?, _ time: Double) -> Handle? {
    Handle(owning: NSDate(timeIntervalSinceReferenceDate: time))
}

@c(ostiary_CFDateGetAbsoluteTime)
func absoluteTime(_ date: Handle?) -> Double { date.object(NSDate.self)?.timeIntervalSinceReferenceDate ?? 0 }

/// Makes `kCFNull`, once, when the library is loaded.
@c(ostiary_null_create)
func createNull() -> Handle? { Handle(owning: NSNull()) }
