# The driver of an Ethos-U belongs to the device: with the folder of its ethosu_driver.h the adapter calls it, and the application links it.
set(FLAMBEAU_ETHOS_U_DRIVER "" CACHE PATH "Folder of ethosu_driver.h, of Arm's ethos-u-core-driver")
if(FLAMBEAU_ETHOS_U_DRIVER)
  set_source_files_properties("${backends}/${name}/runtime/ethos_u.c" PROPERTIES
    COMPILE_DEFINITIONS FLAMBEAU_ETHOS_U_DRIVER INCLUDE_DIRECTORIES "${FLAMBEAU_ETHOS_U_DRIVER}")
endif()
