import os

# onnxruntime tells its maker that it runs, unless it is told not to before it is loaded; its function to turn that off
# comes too late, a device id is on disk by then
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
