// The version of Debian 12: newer functions would build elsewhere and fail there.
#define GDK_VERSION_MIN_REQUIRED GDK_VERSION_4_8
#define GDK_VERSION_MAX_ALLOWED GDK_VERSION_4_8
#include <gdk/wayland/gdkwayland.h>
#include <glib-unix.h>
#include <gtk/gtk.h>
