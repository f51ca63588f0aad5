# Finding the device, also where its driver is there but was not entered in /etc/OpenCL/vendors.
# shellcheck shell=bash disable=SC2154

# Where vendors put their drivers, beside what the dynamic linker knows.
library_folders=${OCLATTN_GPU_CHECK_LIBRARIES:-/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib:/usr/lib/wsl/lib:/usr/local/nvidia/lib64:/usr/local/lib:/opt/rocm/lib:/opt/amdgpu/lib/x86_64-linux-gnu:/vendor/lib64:/system/vendor/lib64}
vendor_libraries='libnvidia-opencl.so.1 libamdocl64.so libigdrcl.so libmali.so.1 libmali.so libOpenCL_adreno.so'

# The drivers of GPUs that lie there, a path a line.
find_vendor_libraries() {
    local folder library folders
    IFS=: read -ra folders <<< "$library_folders"
    for library in $vendor_libraries; do
        for folder in "${folders[@]}" /usr/lib/*/intel-opencl; do
            if [ -e "$folder/$library" ]; then
                printf '%s\n' "$folder/$library"
                break
            fi
        done
    done
}

# write_private_vendors FOLDER: the system's .icd files, and one for each driver that none of them names. Returns 1 where
# there is nothing to add.
write_private_vendors() {
    local folder=$1 library added=1
    mkdir -p "$folder"
    cp /etc/OpenCL/vendors/*.icd "$folder/" 2> /dev/null || true
    while IFS= read -r library; do
        if ! grep -qsF "$(basename "$library")" "$folder"/*.icd; then
            printf '%s\n' "$library" > "$folder/oclattn-$(basename "$library").icd"
            added=0
        fi
    done < <(find_vendor_libraries)
    return $added
}

has_device() {
    run_for 30 "$logs/device.log" "$build/bin/oclattn-probe" --device "$spec" --prop name
}

# Returns 1 where there is none; the log then tells what the probe says.
find_device() {
    if ! has_device && [ -z "${OCL_ICD_VENDORS:-}" ] && write_private_vendors "$private/vendors"; then
        export OCL_ICD_VENDORS=$private/vendors
        say "No device \"$spec\" yet, but drivers that /etc/OpenCL/vendors does not name: $(cat "$private"/vendors/oclattn-*.icd | xargs)"
        has_device || unset OCL_ICD_VENDORS
    fi
    if has_device; then
        say "Device: $(cat "$logs/device.log")"
        return 0
    fi
    "$build/bin/oclattn-probe" --device "$spec" 2>&1 | tee "$logs/device.log" || true
    return 1
}
