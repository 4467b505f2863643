typedef int fl_platform_is_empty;
